"""Journals of queues as a Spark data source of events, decoded on the executors."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from duolog_pipelines.audit.events import SCHEMA, event_batch
from pyspark_duolog.arrow_rows import arrow_schema
from pyspark_duolog.columns import COLUMNS
from pyspark_duolog.source.batch_reader import DuologBatchReader
from pyspark_duolog.source.options import read_options

_READ = ("topic", "partition", "offset", "timestamp", "key", "value")


class JournalSource(DataSource):
    """Data source with the options of the connector's source."""

    @classmethod
    def name(cls) -> str:
        return "duolog-journal"

    def schema(self) -> StructType:
        return SCHEMA

    def reader(self, schema: StructType) -> DataSourceReader:
        given: Any = self.options
        return _JournalReader(given)


class _JournalReader(DataSourceReader):
    def __init__(self, given: dict[str, str]) -> None:
        columns = StructType()
        for name in _READ:
            columns.add(name, COLUMNS[name])
        self._records = DuologBatchReader(read_options(given), columns)

    def partitions(self) -> list[InputPartition]:
        return self._records.partitions()

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        schema = arrow_schema(SCHEMA)
        for batch in self._records.read(partition):
            yield event_batch(batch, schema)
