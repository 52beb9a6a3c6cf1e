"""The transport's ceiling: a source that yields one Arrow batch again and again.

What any Python source costs at least: Arrow's bytes through a socket, and rows made of them.
"""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from pyspark.sql.datasource import DataSource, InputPartition
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from bench.spark.fixed_stream import SCHEMA, FixedStreamReader


class RepeatedSource(DataSource):
    """Options: partitions, rows (per partition), batch_rows and value_bytes."""

    @classmethod
    def name(cls) -> str:
        return "repeated"

    def schema(self) -> str:
        return SCHEMA

    def streamReader(self, schema: StructType) -> "RepeatedReader":
        return RepeatedReader(dict(self.options), schema)


class RepeatedReader(FixedStreamReader):
    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        super().__init__(options)
        self._schema = schema

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        rows, batch_rows = int(self.options["rows"]), int(self.options["batch_rows"])
        batch = self._batch(batch_rows, int(self.options["value_bytes"]))
        for first in range(0, rows, batch_rows):
            yield batch if first + batch_rows <= rows else batch.slice(0, rows - first)

    def _batch(self, count: int, value_bytes: int) -> pa.RecordBatch:
        schema = to_arrow_schema(self._schema, timezone="UTC")
        columns = {
            "key": pa.nulls(count, pa.binary()),
            "value": pa.array([b"x" * value_bytes] * count, pa.binary()),
            "topic": pa.repeat("repeated", count),
            "partition": pa.array(np.zeros(count, np.int32)),
            "offset": pa.array(np.arange(count)),
            "timestamp": pa.array(np.zeros(count, np.int64)).view(pa.timestamp("us", tz="UTC")),
            "timestampType": pa.array(np.zeros(count, np.int32)),
        }
        return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)
