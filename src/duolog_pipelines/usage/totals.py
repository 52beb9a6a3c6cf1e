"""Usage summed by hour and by day. Pure: frames to frames."""

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    DecimalType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from duolog_pipelines.usage.lines import COUNTS, SUBJECT

HOUR_MS = 3_600_000

_WIDE = DecimalType(38, 0)
"""Wide enough for byte-seconds: those of a month of 100 TB exceed 64 bits."""
_SUMS = [
    *(StructField(name, _WIDE if name == "byte_seconds" else LongType()) for name in COUNTS),
    StructField("lines", LongType()),
]
_SUBJECT = [StructField(name, kind) for name, kind in SUBJECT.items()]

HOURLY = StructType(
    [*_SUBJECT, StructField("hour", TimestampType()), *_SUMS, StructField("date", DateType())]
)
DAILY = StructType([*_SUBJECT, *_SUMS, StructField("date", DateType())])


def hour_ms() -> Column:
    """Start of a line's hour. No line spans a full hour, so the hour in which it begins counts."""
    return F.col("from_ms") - F.col("from_ms") % HOUR_MS


def hourly(lines: DataFrame) -> DataFrame:
    """Sum LINES into HOURLY."""
    hour = F.timestamp_millis(hour_ms()).alias("hour")
    return (
        lines.withColumn("lines", F.lit(1).cast("long"))
        .groupBy(*SUBJECT, hour, "date")
        .agg(*sums())
        .select(*HOURLY.names)
    )


def daily(hours: DataFrame) -> DataFrame:
    """Sum HOURLY into DAILY."""
    return hours.groupBy(*SUBJECT, "date").agg(*sums()).select(*DAILY.names)


def hours_in(lines: DataFrame) -> DataFrame:
    """Distinct hours of the lines, as `hour_ms`."""
    return lines.select(hour_ms().alias("hour_ms")).distinct()


def of_hours(lines: DataFrame, hours: Iterable[int]) -> DataFrame:
    return lines.where(hour_ms().isin(sorted(hours)))


def sums() -> list[Column]:
    """Sums of all counts of the lines, and the number of lines."""
    return [
        F.sum(F.col(field.name).cast(field.dataType)).cast(field.dataType).alias(field.name)
        for field in _SUMS
    ]
