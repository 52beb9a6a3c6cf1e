"""The columns of the source, named and typed as those of Spark's Kafka source."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from pyspark_duolog.codec.decode import RECORD_TYPES
from pyspark_duolog.errors import InvalidOption

HEADERS = "headers"
COLUMNS: Mapping[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    HEADERS: ArrayType(
        StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    ),
}


QUEUE_COLUMNS: Mapping[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "queue": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    HEADERS: COLUMNS[HEADERS],
    "message_id": StringType(),
    "receive_count": IntegerType(),
    "state": StringType(),
}


def queue_schema() -> StructType:
    return StructType([StructField(name, kind) for name, kind in QUEUE_COLUMNS.items()])


def full_schema(include_headers: bool) -> StructType:
    return StructType(
        [
            StructField(name, kind)
            for name, kind in COLUMNS.items()
            if name != HEADERS or include_headers
        ]
    )


def check_schema(schema: StructType, columns: Mapping[str, DataType] = COLUMNS) -> None:
    """A user may ask for fewer columns, in any order; never for others."""
    for field in schema.fields:
        expected = columns.get(field.name)
        if expected is None:
            known = ", ".join(columns)
            raise InvalidOption(f"there is no column '{field.name}'; there are {known}")
        if field.dataType != expected:
            raise InvalidOption(
                f"the column '{field.name}' is {expected.simpleString()}, "
                f"not {field.dataType.simpleString()}"
            )


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
