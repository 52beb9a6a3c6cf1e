"""Keeps the totals by hour and by day up to date with the lines.

Each table of totals remembers up to which version of the table below it was summed. What was
added there since tells which hours, and which days, are summed again from all of their lines:
nothing is ever added to a sum, so nothing can be added twice.
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
"""Names, in a table of totals, the version of the one below that it is made of."""


def update_totals(spark: SparkSession, tables: UsageTables, now_ms: int) -> int:
    """How many hours were summed again."""
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
    """Lines lie in other files now, and are the same: nothing has to be summed again."""
    version = tables.lines.opened().version()
    tables.hourly.commit([], now_ms, once=Once(_SOURCE, version))


def sum_hours(
    spark: SparkSession,
    tables: UsageTables,
    hours: set[int],
    now_ms: int,
    once: Once | None = None,
) -> None:
    """From all of their lines, instead of what is there."""
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
    """From all of their hours, instead of what is there."""
    if not dates:
        return
    hours = [each.path for each in tables.hourly.statistics() if _date_of(each) in dates]
    old = [each.path for each in tables.daily.statistics() if _date_of(each) in dates]
    folder = tables.daily.stage(daily(tables.hourly.frame(spark, hours)).coalesce(1))
    tables.daily.commit([folder], now_ms, once=once, without=old)


def _added_since(table: SparkTable, version: int) -> list[str]:
    """Files that a table has now and had not at a version; -1 is before its first."""
    try:
        before = {each.path for each in table.statistics(version)} if version >= 0 else set()
    except DeltaError:
        # That version was cleaned up: summing everything again is slower, and right.
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
