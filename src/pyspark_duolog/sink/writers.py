"""Writers of rows: `df.write.format("duolog")` and `df.writeStream.format("duolog")`."""

from collections.abc import Iterator
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StringType, StructType

from pyspark_duolog.columns import COLUMNS
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.sink.delivery import deliver
from pyspark_duolog.sink.options import SinkOptions
from pyspark_duolog.sink.staging import Staged, discard, stage

WRITTEN = ("key", "value", "topic", "partition", "timestamp", "headers")
"""Columns that the sink takes; only `value` is required."""
_TEXT_TOO = ("key", "value")
ONLY_BATCH = 0
"""Batch number of a batch write, which has only one."""


def check_written(schema: StructType) -> None:
    for field in schema.fields:
        if field.name not in WRITTEN:
            known = ", ".join(WRITTEN)
            raise InvalidOption(f"the column '{field.name}' cannot be written; these can: {known}")
        # Compared as texts, which ignore whether a field is nullable.
        taken = [COLUMNS[field.name].simpleString()]
        if field.name in _TEXT_TOO:
            taken.append(StringType().simpleString())
        given = field.dataType.simpleString()
        if given not in taken:
            names = " or ".join(taken)
            raise InvalidOption(f"the column '{field.name}' is {given}, not {names}")
    if "value" not in schema.names:
        raise InvalidOption("there is no column 'value' to write")


class DuologBatchWriter(DataSourceArrowWriter):
    """Writes all or nothing: no row is in the log until every task has succeeded, then each is
    once."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_written(schema)
        self._options = options
        self._write_id = options.write_id or uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        return stage(self._options, self._write_id, _task(), iterator)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        deliver(self._options, ONLY_BATCH, _staged(messages))

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        discard(self._options.staging_directory, _staged(messages))


class DuologStreamWriter(DataSourceStreamArrowWriter):
    """Writes exactly once: see delivery.py for the protocol, and manifest.py for restarted
    drivers."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        check_written(schema)
        if options.write_id is not None:
            raise InvalidOption(
                "a stream's writes are named by its query, not by the option writeId"
            )
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Staged:
        context = TaskContext.get()
        query = context.getLocalProperty("sql.streaming.queryId") if context else None
        assert query, "Spark tells every task of a stream which query it is of"
        return stage(self._options, query, _task(), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        deliver(self._options, batchId, _staged(messages))

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        discard(self._options.staging_directory, _staged(messages))


def _task() -> int:
    context = TaskContext.get()
    return context.partitionId() if context else 0


def _staged(messages: list[WriterCommitMessage | None]) -> list[Staged]:
    return [each for each in messages if isinstance(each, Staged)]
