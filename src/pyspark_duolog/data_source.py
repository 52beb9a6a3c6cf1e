"""The data source as Spark finds it.

For almost every step of planning a query Spark imports this in a fresh Python process, mostly only
to learn the schema. Readers and writers are therefore imported only by the methods that need them:
importing all takes several times as long as the rest of such a step.
"""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from pyspark_duolog.sink.options import SinkOptions
    from pyspark_duolog.source.options import SourceOptions


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
            from pyspark_duolog.queues.reader import DuologQueueReader

            given: Any = self.options
            return DuologQueueReader(read_queue_options(given), schema)
        from pyspark_duolog.source.batch_reader import DuologBatchReader

        return DuologBatchReader(self._read_options(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        if QUEUE in self.options:
            raise InvalidOption(
                "the current state of a queue is no stream; subscribe to the topic of its name"
            )
        from pyspark_duolog.source.stream_reader import DuologStreamReader

        return DuologStreamReader(self._read_options(), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        _check_appending(overwrite)
        from pyspark_duolog.sink.writers import DuologBatchWriter

        return DuologBatchWriter(self._read_sink_options(), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        _check_appending(overwrite)
        from pyspark_duolog.sink.writers import DuologStreamWriter

        return DuologStreamWriter(self._read_sink_options(), schema)

    def _read_sink_options(self) -> "SinkOptions":
        from pyspark_duolog.sink.options import read_sink_options

        given: Any = self.options
        return read_sink_options(given)

    def _read_options(self) -> "SourceOptions":
        from pyspark_duolog.source.options import read_options

        given: Any = self.options
        return read_options(given)


def _check_appending(overwrite: bool) -> None:
    if overwrite:
        raise InvalidOption("a topic cannot be overwritten; use the mode append")


def register(spark: SparkSession) -> None:
    """Register the source in a session that started before the package was installed."""
    spark.dataSource.register(DuologDataSource)
