"""Usage lines, as nodes write them to `__usage` and as they are kept. Pure: frames to frames.

Fields that are not known are ignored, and counts that are missing are 0, so that a newer node's
lines can be read; what names a line, and what it is about, has to be there.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    DateType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

NAME = {
    "node": IntegerType(),
    "journal": StringType(),
    "sequence": LongType(),
    "line": IntegerType(),
}
"""The columns that name a line for ever."""
SUBJECT = {
    "tenant": StringType(),
    "kind": StringType(),
    "resource": StringType(),
    "operation": StringType(),
}
"""Who has used what, and how."""
COUNTS = {
    "requests": LongType(),
    "messages": LongType(),
    "bytes": LongType(),
    "byte_seconds": LongType(),
    "errors": LongType(),
}
_REQUIRED = {
    **NAME,
    "lines": IntegerType(),
    "from_ms": LongType(),
    "to_ms": LongType(),
    **SUBJECT,
}
_BROKEN = "_corrupt_record"
"""Spark puts a value here in which a known field has another type."""
_TOLD = StructType(
    [
        StructField("version", IntegerType()),
        *(StructField(name, kind) for name, kind in {**_REQUIRED, **COUNTS}.items()),
        StructField(_BROKEN, StringType()),
    ]
)

RECORDS = StructType(
    [
        StructField("value", BinaryType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
    ]
)
"""What is read of the topic."""

LINES = StructType(
    [
        StructField("version", IntegerType()),
        *(StructField(name, kind) for name, kind in {**_REQUIRED, **COUNTS}.items()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("date", DateType()),
    ]
)
REJECTED = RECORDS


def parsed(records: DataFrame) -> DataFrame:
    """RECORDS to LINES, with the record beside them, and whether it was a line at all."""
    told = F.from_json(F.col("value").cast("string"), _TOLD)
    # As a generator it is evaluated once; as a struct, once for each field that is used.
    spread = records.select("*", F.inline(F.array(told)))
    counts = [F.coalesce(name, F.lit(0)).alias(name) for name in COUNTS]
    return spread.select(
        "value",
        "version",
        *_REQUIRED,
        *counts,
        "partition",
        "offset",
        F.to_date(F.timestamp_millis("from_ms")).alias("date"),
        _is_line().alias("is_line"),
    )


def lines_of(told: DataFrame) -> DataFrame:
    return told.where("is_line").select(*LINES.names)


def rejected_of(told: DataFrame) -> DataFrame:
    return told.where("NOT is_line").select(*REJECTED.names)


def first_of_each(lines: DataFrame) -> DataFrame:
    """Of lines with one name the first in the log, so that the choice is always the same."""
    first = F.min_by(F.struct(*LINES.names), F.struct("partition", "offset"))
    return lines.groupBy(*NAME).agg(first.alias("first")).select("first.*")


def _is_line() -> Column:
    good = F.col(_BROKEN).isNull()
    for name in _REQUIRED:
        good &= F.col(name).isNotNull()
    for name in ("sequence", "line", "from_ms", *COUNTS):
        good &= F.coalesce(name, F.lit(0)) >= 0
    return good & (F.col("line") < F.col("lines")) & (F.col("from_ms") <= F.col("to_ms"))


def without_runs(lines: DataFrame, runs: DataFrame) -> DataFrame:
    """Lines of none of some stretches of sequences: node, journal, first, last."""
    taken = F.broadcast(runs)
    same = (lines["node"] == taken["node"]) & (lines["journal"] == taken["journal"])
    within = lines["sequence"].between(taken["first"], taken["last"])
    return lines.join(taken, same & within, "left_anti")


def without_lines(lines: DataFrame, named: DataFrame) -> DataFrame:
    """Lines that have none of some names."""
    return lines.join(F.broadcast(named), list(NAME), "left_anti")
