"""Columns of the source, named and typed as in Spark's Kafka source.

arrow_rows has the same as Arrow types, which take longer to import.
"""

from collections.abc import Mapping

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
    """Refuse columns that do not exist or have another type; fewer columns, in any order, are
    fine."""
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
