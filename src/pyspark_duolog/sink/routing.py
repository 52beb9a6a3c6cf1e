"""Routes rows to partitions. Pure: told how many partitions a topic has."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from duolog.client.partitioner import partition_of
from pyspark_duolog.codec.encode import Rows
from pyspark_duolog.errors import ConnectorError, place

PartitionCount = Callable[[str], int]


class Routed(NamedTuple):
    """Rows of one partition, in their order."""

    topic: str
    partition: int
    rows: Rows


def routed(
    batch: pa.RecordBatch,
    default_topic: str | None,
    partition_count: PartitionCount,
    *,
    turn: int,
    now_ms: int,
) -> Iterator[Routed]:
    """Route all rows of a batch. Keyless rows all go to one partition, chosen by `turn`."""
    for topic, some in _by_topic(batch, default_topic):
        count = partition_count(topic)
        partitions = _partitions(some, topic, count, turn % count)
        chosen = np.unique(partitions)
        for partition in chosen.tolist():
            mine = some
            if len(chosen) > 1:
                mine = some.take(pa.array(np.flatnonzero(partitions == partition)))
            yield Routed(topic, partition, _rows(mine, now_ms))


def _by_topic(
    batch: pa.RecordBatch, default_topic: str | None
) -> Iterator[tuple[str, pa.RecordBatch]]:
    if "topic" not in batch.schema.names:
        if default_topic is None:
            raise ConnectorError("rows have no topic, and the option topic names none")
        yield default_topic, batch
        return
    topics = batch["topic"]
    if default_topic is not None:
        topics = pc.fill_null(topics, default_topic)
    for topic in pc.unique(topics).to_pylist():
        if topic is None:
            raise ConnectorError("a row has no topic, and the option topic names none")
        yield topic, batch.filter(pc.equal(topics, topic))


def _partitions(
    batch: pa.RecordBatch, topic: str, count: int, keyless: int
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The partition that a row names, else that of its key, hashed as in the Java client."""
    partitions = np.full(batch.num_rows, keyless, np.int64)
    if "key" in batch.schema.names:
        keys = _binary(batch["key"]).dictionary_encode()
        by_key = np.array(
            [partition_of(key, count) for key in keys.dictionary.to_pylist()] + [keyless], np.int64
        )
        partitions = by_key[pc.fill_null(keys.indices, -1).to_numpy()]
    if "partition" in batch.schema.names:
        named = batch["partition"]
        given = pc.fill_null(named, -1).to_numpy()
        partitions = np.where(named.is_valid(), given, partitions)
        wrong = partitions[(partitions < 0) | (partitions >= count)]
        if wrong.size:
            raise ConnectorError(f"a row goes to {place(topic, int(wrong[0]))}, which has {count}")
    return partitions


def _rows(batch: pa.RecordBatch, now_ms: int) -> Rows:
    names = batch.schema.names
    count = batch.num_rows
    timestamps = np.full(count, now_ms, np.int64)
    if "timestamp" in names:
        microseconds = pc.cast(batch["timestamp"], pa.int64())
        given = pc.fill_null(microseconds, 0).to_numpy() // 1000
        timestamps = np.where(batch["timestamp"].is_valid(), given, timestamps)
    headers = batch["headers"] if "headers" in names else None
    if headers is not None and headers.flatten().field("key").null_count:
        raise ConnectorError("a header of a row has no name")
    return Rows(
        _binary(batch["key"]) if "key" in names else pa.nulls(count, pa.binary()),
        _binary(batch["value"]),
        timestamps,
        headers,
    )


def _binary(array: pa.Array) -> pa.Array:
    return array if array.type == pa.binary() else array.cast(pa.binary())
