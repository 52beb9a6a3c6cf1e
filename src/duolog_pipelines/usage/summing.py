"""Keeps the totals by hour and by day up to date with the lines.

Each table of totals remembers the version of the table below it that it was summed from. Files
added since then tell which hours and days to recompute from all of their lines: nothing is ever
added to a sum, so nothing can be added twice.
"""

from collections.abc import Iterable
from datetime import UTC, date, datetime

from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from duolog_pipelines.delta import Once, SparkTable, Statistics
from duolog_pipelines.usage.tables import UsageTables
from duolog_pipelines.usage.totals import HOUR_MS, daily, hourly, hours_in, of_hours

_SOURCE = "summed"
"""Transaction id that records, in a table of totals, the version of the table below."""


def update_totals(spark: SparkSession, tables: UsageTables, now_ms: int) -> int:
    """Recompute all hours and days with new lines; returns the number of hours."""
    version = tables.lines.opened().version()
    added = _added_since(tables.lines, tables.hourly.done(_SOURCE))
    hours = (
        {row["hour_ms"] for row in hours_in(tables.lines.frame(spark, added)).collect()}
        if added
        else set()
    )
    sum_hours(spark, tables, hours, now_ms, Once(_SOURCE, version))
    _sum_days(spark, tables, now_ms)
    return len(hours)


def keep_summed(tables: UsageTables, now_ms: int) -> None:
    """Mark the totals as current after a compaction, which changes files but no lines."""
    version = tables.lines.opened().version()
    tables.hourly.commit([], now_ms, once=Once(_SOURCE, version))


def sum_hours(
    spark: SparkSession,
    tables: UsageTables,
    hours: set[int],
    now_ms: int,
    once: Once | None = None,
) -> None:
    """Recompute these hours from all of their lines, replacing the old sums."""
    if not hours:
        return
    touched = [each.path for each in tables.lines.statistics() if _overlaps(each, hours)]
    summed = hourly(of_hours(tables.lines.frame(spark, touched), hours))
    dates = {date_of(hour) for hour in hours}
    old = [each.path for each in tables.hourly.statistics() if _date_of(each) in dates]
    moments = [datetime.fromtimestamp(hour / 1000, UTC) for hour in sorted(hours)]
    kept = tables.hourly.frame(spark, old).where(~F.col("hour").isin(moments))
    folder = tables.hourly.stage(summed.unionByName(kept).coalesce(1))
    tables.hourly.commit([folder], now_ms, once=once, without=old)


def _sum_days(spark: SparkSession, tables: UsageTables, now_ms: int) -> None:
    version = tables.hourly.opened().version()
    added = set(_added_since(tables.hourly, tables.daily.done(_SOURCE)))
    every = tables.hourly.statistics()
    sum_days(
        spark,
        tables,
        {_date_of(each) for each in every if each.path in added},
        now_ms,
        Once(_SOURCE, version),
    )


def sum_days(
    spark: SparkSession,
    tables: UsageTables,
    dates: set[date],
    now_ms: int,
    once: Once | None = None,
) -> None:
    """Recompute these days from all of their hours, replacing the old sums."""
    if not dates:
        return
    hours = [each.path for each in tables.hourly.statistics() if _date_of(each) in dates]
    old = [each.path for each in tables.daily.statistics() if _date_of(each) in dates]
    folder = tables.daily.stage(daily(tables.hourly.frame(spark, hours)).coalesce(1))
    tables.daily.commit([folder], now_ms, once=once, without=old)


def _added_since(table: SparkTable, version: int) -> list[str]:
    """Files in the table now that were not there at `version`; -1 stands for before the first."""
    try:
        before = {each.path for each in table.statistics(version)} if version >= 0 else set()
    except DeltaError:
        # That version was vacuumed away; recomputing everything is slower but correct.
        before = set()
    return [each.path for each in table.statistics() if each.path not in before]


def _overlaps(file: Statistics, hours: Iterable[int]) -> bool:
    lowest, highest = file.lowest["from_ms"], file.highest["from_ms"]
    return any(hour <= highest and lowest < hour + HOUR_MS for hour in hours)


def date_of(hour_ms: int) -> date:
    return datetime.fromtimestamp(hour_ms / 1000, UTC).date()


def _date_of(file: Statistics) -> date:
    text = file.partition["date"]
    assert text is not None, "every line has a date"
    return date.fromisoformat(text)
