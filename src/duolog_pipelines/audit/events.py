"""A queue's journal as rows: deliveries, ends and replays of messages, with their times. Pure.

Rows of a partition are ordered by `position`. A row concerns the messages from `offset` up to
`next_offset`; for a trim these are all messages below.
"""

from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from duolog.records.changes import (
    Change,
    Deleted,
    Delivered,
    Replayed,
    Trimmed,
    VisibilityChanged,
    decode_changes,
)
from duolog.records.journal_head import decode_head
from duolog_pipelines.errors import PipelineError

DELIVERED, ENDED, TRIMMED, REPLAYED = "delivered", "ended", "trimmed", "replayed"
NO_CAUSE = -1
POSITION_BITS = 20
"""Low bits of a position, which number the changes within a record."""

SCHEMA = StructType(
    [
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("position", LongType()),
        StructField("epoch", IntegerType()),
        StructField("kind", StringType()),
        StructField("offset", LongType()),
        StructField("next_offset", LongType()),
        StructField("cause", IntegerType()),
        StructField("time_ms", LongType()),
    ]
)


class Event(NamedTuple):
    kind: str
    offset: int
    next_offset: int
    cause: int
    time_ms: int


def events_of(change: Change, record_ms: int) -> list[Event]:
    """Events of one change; `record_ms` is the time of its journal record."""
    match change:
        case Delivered(offsets, now_ms):
            return [Event(DELIVERED, at, at + 1, NO_CAUSE, now_ms) for at in offsets]
        case Deleted(offsets, cause):
            return [Event(ENDED, at, at + 1, cause, record_ms) for at in offsets]
        case Trimmed(before_offset, cause):
            return [Event(TRIMMED, 0, before_offset, cause, record_ms)]
        case Replayed(first_offset, next_offset, now_ms):
            return [Event(REPLAYED, first_offset, next_offset, NO_CAUSE, now_ms)]
        case VisibilityChanged():
            return []


def event_batch(records: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Events of journal records, given with topic, partition, offset, timestamp, key and value."""
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    timestamps = records["timestamp"].cast(pa.int64()).to_pylist()
    places = zip(
        records["topic"].to_pylist(),
        records["partition"].to_pylist(),
        records["offset"].to_pylist(),
        strict=True,
    )
    contents = zip(records["key"].to_pylist(), records["value"].to_pylist(), strict=True)
    for (topic, partition, offset), (key, value), us in zip(
        places, contents, timestamps, strict=True
    ):
        try:
            head = decode_head(key)
            changes = [] if head.pieces else list(decode_changes(value or b""))
        except ValueError as error:
            raise PipelineError(
                f"Partition {partition} of '{topic}' holds no journal record at offset {offset}:"
                f" {error}. Find out which program has written it."
            ) from None
        found = [each for change in changes for each in events_of(change, us // 1000)]
        count = len(found)
        assert count < 1 << POSITION_BITS, "a record has fewer than a million offsets"
        first = offset << POSITION_BITS
        columns["topic"] += [topic] * count
        columns["partition"] += [partition] * count
        columns["position"] += range(first, first + count)
        columns["epoch"] += [head.epoch] * count
        for name, values in zip(Event._fields, zip(*found, strict=True), strict=False):
            columns[name] += values
    arrays = [pa.array(columns[name], schema.field(name).type) for name in schema.names]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
