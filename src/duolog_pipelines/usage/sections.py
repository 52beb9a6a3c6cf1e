"""The report's sections on usage, from the tables of totals."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from duolog_pipelines.lake import Lake, Row
from duolog_pipelines.report.section import Chart, Section, Table

DAYS = 31
HOURS = 48
ROWS_MAX = 25
_GB = Decimal(1_000_000_000)
_COUNTS = ("requests", "messages", "bytes", "byte_seconds", "errors")
_DAILY, _HOURLY = "usage_daily", "usage_hourly"


def usage_sections(lake: Lake) -> list[Section]:
    """Usage of the latest days that have any, and of their last hours."""
    days = lake.arrow(_DAILY)
    if days is None or not days.num_rows:
        return []
    last = pc.max(days["date"]).as_py()
    first = last - timedelta(days=DAYS - 1)
    recent = days.filter(pc.greater_equal(days["date"], pa.scalar(first)))
    charts = [_by_day(recent)]
    hours = lake.arrow(_HOURLY, pc.field("date") >= pa.scalar(last - timedelta(days=2)))
    if hours is not None and hours.num_rows:
        charts.append(_by_hour(hours))
    found = sorted(set(recent["date"].to_pylist()))
    text = f"From {found[0]} to {found[-1]}, in UTC."
    return [Section("Usage", text, [_by_resource(recent)], charts)]


def _by_resource(days: pa.Table) -> Table:
    grouped = _summed(days, ["tenant", "kind", "resource", "operation"], _COUNTS)
    grouped.sort(key=lambda row: (-row["messages"], -row["bytes"], row["resource"]))
    rows = [
        (
            row["tenant"],
            f"{row['kind']} {row['resource']}",
            row["operation"],
            row["requests"],
            row["messages"],
            row["bytes"],
            (row["byte_seconds"] / _GB / 3600).quantize(Decimal("0.000001")),
            row["errors"],
        )
        for row in grouped[:ROWS_MAX]
    ]
    columns = ("tenant", "resource", "operation", "requests", "messages", "bytes", "GB-hours")
    more = len(grouped) - len(rows)
    note = f"the {ROWS_MAX} with most messages; {more} more" if more else ""
    return Table("By queue and topic", (*columns, "errors"), rows, note)


def _by_day(days: pa.Table) -> Chart:
    rows = _summed(days, ["date", "operation"], ["messages"])
    labels = sorted({row["date"] for row in rows})
    series = _series(rows, "date", labels)
    texts = [f"{day:%m-%d}" for day in labels]
    return Chart("Messages by day and operation", "bars", texts, series, "messages")


def _by_hour(hours: pa.Table) -> Chart:
    last: datetime = pc.max(hours["hour"]).as_py()
    labels = [last - timedelta(hours=back) for back in range(HOURS - 1, -1, -1)]
    rows = _summed(hours, ["hour", "operation"], ["messages"])
    series = _series(rows, "hour", labels)
    texts = [f"{hour:%H}h" for hour in labels]
    return Chart("Messages by hour and operation", "lines", texts, series, "messages")


def _series(rows: Sequence[Row], by: str, labels: Sequence[object]) -> dict[str, list[float]]:
    """Messages by operation; operations without messages are left out."""
    places = {label: index for index, label in enumerate(labels)}
    series: dict[str, list[float]] = defaultdict(lambda: [0.0] * len(labels))
    for row in rows:
        if row[by] in places and row["messages"]:
            series[row["operation"]][places[row[by]]] += row["messages"]
    return dict(sorted(series.items()))


def _summed(table: pa.Table, by: list[str], counts: Sequence[str]) -> list[Row]:
    summed = table.group_by(by).aggregate([(name, "sum") for name in counts])
    rows: list[Row] = summed.rename_columns([*by, *counts]).to_pylist()
    return rows
