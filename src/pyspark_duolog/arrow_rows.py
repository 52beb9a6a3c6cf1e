"""Rows of the source as Arrow batches, completed by topic and partition."""

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pyspark_duolog.codec.decode import RECORD_TYPES


def arrow_schema(schema: StructType) -> pa.Schema:
    return to_arrow_schema(schema, timezone="UTC")


def decoded_columns(schema: pa.Schema) -> list[str]:
    """Columns decoded from records; the others are constant for a task."""
    return [name for name in schema.names if name in RECORD_TYPES]


class Place:
    """Constant columns of a task, built once at the length of its largest batch."""

    def __init__(self, schema: pa.Schema, topic: str, partition: int) -> None:
        self._schema = schema
        self._topic = topic
        self._partition = partition
        self._count = 0
        self._columns: dict[str, pa.Array] = {}

    def complete(self, decoded: pa.RecordBatch) -> pa.RecordBatch:
        """Add the constant columns to decoded ones, in the order of the schema."""
        count = decoded.num_rows
        if count > self._count:
            self._count = count
            self._columns = {
                "topic": pa.repeat(self._topic, count),
                "partition": pa.array(np.full(count, self._partition, np.int32)),
            }
        arrays = [
            self._columns[name].slice(0, count) if name in self._columns else decoded[name]
            for name in self._schema.names
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
