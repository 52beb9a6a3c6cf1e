"""Usage lines, as nodes write them to `__usage` and as they are kept. Pure: frames to frames.

A record of the topic is a sheet: lines of one interval, by column. Unknown fields are ignored and
missing counts are 0, so that a newer node's sheets can be read; the fields that name a sheet and
its subjects are required.
"""

from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

SUBJECT = {
    "tenant": StringType(),
    "kind": StringType(),
    "resource": StringType(),
    "operation": StringType(),
}
"""Subject of a line: who has used which resource, and how."""
COUNTS = {
    "requests": LongType(),
    "messages": LongType(),
    "bytes": LongType(),
    "byte_seconds": LongType(),
    "errors": LongType(),
}
_NAME = {
    "node": IntegerType(),
    "journal": StringType(),
    "sequence": LongType(),
    "part": IntegerType(),
}
"""Columns that identify a sheet for ever."""
_REQUIRED = {**_NAME, "parts": IntegerType(), "from_ms": LongType(), "to_ms": LongType()}
_PLACE = {"partition": IntegerType(), "offset": LongType()}
"""Position of a record in the topic."""
_BROKEN = "_corrupt_record"
"""Column in which Spark puts a value whose known field has another type."""
_TOLD = StructType(
    [
        StructField("version", IntegerType()),
        *(StructField(name, kind) for name, kind in _REQUIRED.items()),
        *(StructField(name, ArrayType(kind)) for name, kind in {**SUBJECT, **COUNTS}.items()),
        StructField(_BROKEN, StringType()),
    ]
)

RECORDS = StructType(
    [
        StructField("value", BinaryType()),
        *(StructField(name, kind) for name, kind in _PLACE.items()),
    ]
)
"""Columns read from the topic."""
REJECTED = RECORDS

LINES = StructType(
    [
        StructField("version", IntegerType()),
        *(StructField(name, kind) for name, kind in _REQUIRED.items()),
        StructField("line", IntegerType()),
        *(StructField(name, kind) for name, kind in {**SUBJECT, **COUNTS, **_PLACE}.items()),
        StructField("date", DateType()),
    ]
)


def parsed(records: DataFrame) -> DataFrame:
    """Parse RECORDS into sheets; `is_sheet` tells whether a record was one."""
    told = F.from_json(F.col("value").cast("string"), _TOLD)
    # As a generator the parser runs once; as a struct, once for each field used.
    spread = records.select("*", F.inline(F.array(told)))
    nothing = F.array_repeat(F.lit(0).cast("long"), F.size("tenant"))
    counts = [F.coalesce(name, nothing).alias(name) for name in COUNTS]
    return spread.select(
        "value",
        "version",
        *_REQUIRED,
        *SUBJECT,
        *counts,
        *_PLACE,
        F.to_date(F.timestamp_millis("from_ms")).alias("date"),
        _BROKEN,
    ).select("*", _is_sheet().alias("is_sheet"))


def lines_of(sheets: DataFrame) -> DataFrame:
    """LINES of the records that are sheets."""
    columns = F.arrays_zip(*SUBJECT, *COUNTS)
    common = ("version", *_REQUIRED, *_PLACE, "date")
    return (
        sheets.where("is_sheet")
        .select(*common, F.posexplode(columns).alias("line", "said"))
        .select(*common, "line", "said.*")
        .select(*LINES.names)
    )


def rejected_of(sheets: DataFrame) -> DataFrame:
    return sheets.where("NOT is_sheet").select(*REJECTED.names)


def sheets_in(lines: DataFrame) -> DataFrame:
    """One row for each sheet that the lines belong to, with its name and place."""
    return lines.where("line = 0").select(*_NAME, "parts", *_PLACE)


def without_records(lines: DataFrame, places: DataFrame) -> DataFrame:
    """Lines without those of some records, given by partition and offset."""
    return lines.join(F.broadcast(places), list(_PLACE), "left_anti").select(*LINES.names)


def _is_sheet() -> Column:
    listed = [*SUBJECT, *COUNTS]
    wanted = [
        F.col(_BROKEN).isNull(),
        *(F.col(name).isNotNull() for name in [*_REQUIRED, *listed]),
        *(F.col(name) >= 0 for name in ("sequence", "part", "from_ms")),
        F.col("part") < F.col("parts"),
        F.col("from_ms") <= F.col("to_ms"),
        F.size("tenant") > 0,
        *(F.size(name) == F.size("tenant") for name in listed),
        *(~F.exists(name, F.isnull) for name in listed),
        *(F.array_min(name) >= 0 for name in COUNTS),
    ]
    return F.coalesce(reduce(and_, wanted), F.lit(False))
