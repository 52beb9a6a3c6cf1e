"""Usage of tenants by month, selected by offsets. Pure: frames to frames."""

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
    """Condition: a line lies below the offset of its partition; false if the partition has none."""
    bound = F.lit(_NEVER).cast("long")
    for partition, offset in offsets.items():
        bound = F.when(F.col("partition") == partition, F.lit(offset).cast("long")).otherwise(bound)
    return F.col("offset") < bound


def in_months(first: Period, end: Period) -> Column:
    """Condition: a line lies in the months from `first` up to `end`, excluded."""
    return (F.col("from_ms") >= first.start_ms) & (F.col("from_ms") < end.start_ms)


def month() -> Column:
    return F.date_format(F.col("date"), "yyyy-MM")


def by_month(lines: DataFrame) -> DataFrame:
    """Sum LINES by month and subject."""
    return (
        lines.withColumn("lines", F.lit(1).cast("long"))
        .groupBy(month().alias("month"), *SUBJECT)
        .agg(*sums())
    )


def used_by_month(rows: list[Any]) -> dict[Period, dict[Subject, dict[str, int]]]:
    """Collected rows of `by_month`, as usage by month."""
    used: dict[Period, dict[Subject, dict[str, int]]] = {}
    for row in rows:
        subject = Subject(*(row[name] for name in SUBJECT))
        counts = {name: _integer(row[name]) for name in COUNTS}
        used.setdefault(Period.parse(row["month"]), {})[subject] = counts
    return used


def _integer(value: int | Decimal) -> int:
    return int(value)
