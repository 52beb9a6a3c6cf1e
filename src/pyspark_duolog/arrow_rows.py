"""The rows of the source as Arrow has them, complete with where they were read."""

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from pyspark_duolog.codec.decode import RECORD_TYPES


def arrow_schema(schema: StructType) -> pa.Schema:
    return to_arrow_schema(schema, timezone="UTC")


def decoded_columns(schema: pa.Schema) -> list[str]:
    """Those that a record itself has; the others are the same for a whole task."""
    return [name for name in schema.names if name in RECORD_TYPES]


def with_place(
    decoded: pa.RecordBatch, schema: pa.Schema, topic: str, partition: int
) -> pa.RecordBatch:
    """All columns of the schema."""
    count = decoded.num_rows
    arrays = []
    for name in schema.names:
        if name == "topic":
            arrays.append(pa.repeat(topic, count))
        elif name == "partition":
            arrays.append(pa.array(np.full(count, partition, np.int32)))
        else:
            arrays.append(decoded[name])
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
