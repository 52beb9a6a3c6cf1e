"""Reader of streaming queries: `spark.readStream.format("duolog")`."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from duolog.client.offsets import TopicPartition
from duolog.wire.kafka.special_offsets import LATEST
from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.columns import check_schema
from pyspark_duolog.errors import ConnectorError, InvalidOffsets
from pyspark_duolog.source.batch_reader import RangePartition, starting_offsets
from pyspark_duolog.source.brokers import Brokers
from pyspark_duolog.source.offsets import Offsets, offsets_from_json, offsets_to_json
from pyspark_duolog.source.options import SourceOptions
from pyspark_duolog.source.planning import (
    Seen,
    advanced,
    at_bound,
    backlog,
    capped,
    continued,
    ranges_between,
    shared_out,
    split,
    still_there,
    within_bytes,
)
from pyspark_duolog.source.reading import RangeReader

Json = dict[str, Any]


class DuologStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans in a process of the driver; a copy of it reads in every task."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema
        self._brokers = Brokers(options)
        self._until: Seen | None = None
        """Bounds at the start of a query that reads only what is there by then (availableNow)."""
        self._latest: Seen = {}
        self._committed: Mapping[TopicPartition, int] = {}

    def initialOffset(self) -> Json:
        seen = self._brokers.see()
        for name in self._options.subscribe or self._options.assign or ():
            if name not in seen:
                raise InvalidOffsets(f"there is no topic '{name}'")
        return offsets_to_json(starting_offsets(self._brokers, self._options, seen, LATEST))

    def getDefaultReadLimit(self) -> ReadLimit:
        # Spark takes only one limit; if both are given, `_limited` applies both.
        if self._options.max_offsets_per_trigger is not None:
            return ReadMaxRows(self._options.max_offsets_per_trigger)
        if self._options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(self._options.max_bytes_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: Json, limit: ReadLimit) -> Json:
        offsets = offsets_from_json(start)
        seen = self._latest = self._brokers.see()
        if self._until is not None:
            seen = capped(seen, self._until)
        begun = continued(offsets, seen, fail_on_data_loss=self._options.fail_on_data_loss)
        # Spark asks for more once the last batch is done, and this is the only call that surely
        # follows it: its `commit` comes late, or never.
        self._report(offsets)
        waiting = backlog(begun, seen)
        if not isinstance(limit, ReadAllAvailable):
            waiting = self._limited(begun, waiting)
        end = {
            (name, partition): offset + waiting[name, partition]
            for name, topic in begun.items()
            for partition, offset in topic.next.items()
        }
        is_news = any(waiting.values()) or any(topic.began for topic in begun.values())
        is_same = begun.keys() == offsets.keys()
        return offsets_to_json(advanced(begun, end)) if is_news or not is_same else start

    def reportLatestOffset(self) -> Json | None:
        return offsets_to_json(at_bound(self._latest, LATEST)) if self._latest else None

    def prepareForTriggerAvailableNow(self) -> None:
        self._until = self._brokers.see()

    def partitions(self, start: Json, end: Json) -> list[InputPartition]:
        planned = ranges_between(offsets_from_json(start), offsets_from_json(end))
        if not planned:
            return []
        ranges = still_there(
            planned, self._brokers.see(), fail_on_data_loss=self._options.fail_on_data_loss
        )
        return [RangePartition(each) for each in split(ranges, self._options.min_partitions)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, RangePartition)
        schema = arrow_schema(self._schema)
        try:
            yield from RangeReader(self._options, partition.wanted, schema).read()
        except ConnectorError as error:
            raise type(error)(f"{_query()}: {error}") from None

    def commit(self, end: Json) -> None:
        self._report(offsets_from_json(end))

    def _limited(
        self, begun: Offsets, waiting: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        if self._options.max_offsets_per_trigger is not None:
            waiting = shared_out(waiting, self._options.max_offsets_per_trigger)
        if self._options.max_bytes_per_trigger is not None:
            sizes = self._brokers.bytes_per_offset(
                {
                    (name, partition): begun[name].next[partition]
                    for (name, partition), count in waiting.items()
                    if count
                }
            )
            waiting = within_bytes(waiting, sizes, self._options.max_bytes_per_trigger)
        return waiting

    def _report(self, offsets: Offsets) -> None:
        """Commit the offsets to the consumer group, if there is one and they are new."""
        group = self._options.group_id
        reached = {
            (name, partition): offset
            for name, topic in offsets.items()
            if name in self._latest and self._latest[name].id == topic.id
            for partition, offset in topic.next.items()
        }
        if group is not None and reached and reached != self._committed:
            self._brokers.commit(group, reached)
            self._committed = reached


def _query() -> str:
    """Id of the streaming query that this task belongs to, for error texts."""
    context = TaskContext.get()
    if context is None:
        return "a query"
    query = context.getLocalProperty("sql.streaming.queryId")
    return f"query {query}, batch {context.getLocalProperty('streaming.sql.batchId')}"
