"""What tenants used in each month, by offsets. Pure: frames to frames."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from duolog_pipelines.billing.period import Period
from duolog_pipelines.billing.pricing import Subject
from duolog_pipelines.usage.lines import COUNTS, SUBJECT
from duolog_pipelines.usage.totals import sums

_NEVER = -1


def below(offsets: Mapping[int, int]) -> Column:
    """Whether a line lies below the offset of its partition; it does not where there is none."""
    bound = F.lit(_NEVER).cast("long")
    for partition, offset in offsets.items():
        bound = F.when(F.col("partition") == partition, F.lit(offset).cast("long")).otherwise(bound)
    return F.col("offset") < bound


def in_months(first: Period, end: Period) -> Column:
    """Whether a line is of one of some months; the last of them is not part of it."""
    return (F.col("from_ms") >= first.start_ms) & (F.col("from_ms") < end.start_ms)


def month() -> Column:
    return F.date_format(F.col("date"), "yyyy-MM")


def by_month(lines: DataFrame) -> DataFrame:
    """LINES to sums of what each month has of each subject."""
    return (
        lines.withColumn("lines", F.lit(1).cast("long"))
        .groupBy(month().alias("month"), *SUBJECT)
        .agg(*sums())
    )


def used_by_month(rows: list[Any]) -> dict[Period, dict[Subject, dict[str, int]]]:
    """What was collected of `by_month`."""
    used: dict[Period, dict[Subject, dict[str, int]]] = {}
    for row in rows:
        subject = Subject(*(row[name] for name in SUBJECT))
        counts = {name: _integer(row[name]) for name in COUNTS}
        used.setdefault(Period.parse(row["month"]), {})[subject] = counts
    return used


def _integer(value: int | Decimal) -> int:
    return int(value)
