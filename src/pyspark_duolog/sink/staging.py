"""Staged files, which tasks leave for the driver: encoded batches and their targets."""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
from pyspark.sql.datasource import WriterCommitMessage

from pyspark_duolog.asking import Asking
from pyspark_duolog.codec.encode import encode
from pyspark_duolog.sink.options import SinkOptions
from pyspark_duolog.sink.routing import routed


class StagedBatch(NamedTuple):
    """One record batch in a staged file, still without producer and sequence."""

    topic: str
    partition: int
    position: int
    size: int
    record_count: int


class Staged(WriterCommitMessage):
    """Result of one attempt of a task; without effect until the driver delivers it."""

    def __init__(self, write_id: str, file: str | None, batches: list[StagedBatch]) -> None:
        self.write_id = write_id
        """Id of the streaming query, or of the one batch write."""
        self.file = file
        """None if there was nothing to write."""
        self.batches = batches


def stage(
    options: SinkOptions, write_id: str, task: int, given: Iterator[pa.RecordBatch]
) -> Staged:
    """Encode all rows of a task into a file, which is durable when this returns."""
    counts: dict[str, int] = {}

    def partition_count(topic: str) -> int:
        if topic not in counts:
            counts[topic] = _partition_count(options, topic)
        return counts[topic]

    directory = options.staging_directory / write_id
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{uuid4().hex}.batches"
    batches: list[StagedBatch] = []
    position = 0
    with path.open("wb") as file:
        for turn, rows in enumerate(given):
            now_ms = time.time_ns() // 1_000_000
            for each in routed(
                rows, options.topic, partition_count, turn=task + turn, now_ms=now_ms
            ):
                for encoded in encode(
                    each.rows,
                    compression=options.compression,
                    batch_bytes_max=options.batch_bytes_max,
                ):
                    file.write(encoded.batch)
                    size = len(encoded.batch)
                    batches.append(
                        StagedBatch(
                            each.topic, each.partition, position, size, encoded.record_count
                        )
                    )
                    position += size
        file.flush()
        os.fsync(file.fileno())
    if not batches:
        path.unlink()
        return Staged(write_id, None, [])
    return Staged(write_id, path.name, batches)


def discard(directory: Path, staged: Iterable[Staged], kept: Collection[str] = ()) -> None:
    """Remove staged files that will never be sent."""
    for each in staged:
        if each.file is not None and each.file not in kept:
            (directory / each.write_id / each.file).unlink(missing_ok=True)


def _partition_count(options: SinkOptions, topic: str) -> int:
    asking = Asking(options.bootstrap_servers, options.broker_timeout_ms)
    described = asking.ask(lambda cluster: cluster.metadata([topic]))
    return len(described.topics[topic].partitions)
