"""The data source as Spark finds it."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from pyspark_duolog.columns import full_schema, queue_schema
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.queues.options import QUEUE, read_queue_options
from pyspark_duolog.queues.reader import DuologQueueReader
from pyspark_duolog.sink.options import SinkOptions, read_sink_options
from pyspark_duolog.sink.writers import DuologBatchWriter, DuologStreamWriter
from pyspark_duolog.source.batch_reader import DuologBatchReader
from pyspark_duolog.source.options import SourceOptions, read_options
from pyspark_duolog.source.stream_reader import DuologStreamReader


class DuologDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "duolog"

    def schema(self) -> StructType:
        if QUEUE in self.options:
            return queue_schema()
        return full_schema(self._read_options().include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        if QUEUE in self.options:
            given: Any = self.options
            return DuologQueueReader(read_queue_options(given), schema)
        return DuologBatchReader(self._read_options(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if QUEUE in self.options:
            raise InvalidOption(
                "what a queue's messages are now is no stream; subscribe to the topic of its name"
            )
        return DuologStreamReader(self._read_options(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        _check_appending(overwrite)
        return DuologBatchWriter(self._read_sink_options(), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        _check_appending(overwrite)
        return DuologStreamWriter(self._read_sink_options(), schema)

    def _read_sink_options(self) -> SinkOptions:
        given: Any = self.options
        return read_sink_options(given)

    def _read_options(self) -> SourceOptions:
        given: Any = self.options
        return read_options(given)


def _check_appending(overwrite: bool) -> None:
    if overwrite:
        raise InvalidOption("a topic cannot be overwritten; use the mode append")


def register(spark: SparkSession) -> None:
    """For sessions that did not find the package by themselves when they started."""
    spark.dataSource.register(DuologDataSource)
