"""The data source as Spark finds it."""

from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader
from pyspark.sql.types import StructType

from pyspark_duolog.batch_reader import DuologBatchReader
from pyspark_duolog.columns import full_schema
from pyspark_duolog.options import SourceOptions, read_options
from pyspark_duolog.stream_reader import DuologStreamReader


class DuologDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "duolog"

    def schema(self) -> StructType:
        return full_schema(self._read_options().include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        return DuologBatchReader(self._read_options(), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return DuologStreamReader(self._read_options(), schema)

    def _read_options(self) -> SourceOptions:
        given: Any = self.options
        return read_options(given)


def register(spark: SparkSession) -> None:
    """For sessions that did not find the package by themselves when they started."""
    spark.dataSource.register(DuologDataSource)
