"""The pipeline `load`, as the registry knows it."""

from collections.abc import Mapping, Sequence
from typing import Any

from duolog.model.advice import Action, AddPartitions, decode_advice
from duolog_pipelines.errors import NotAllowed
from duolog_pipelines.lake import Lake
from duolog_pipelines.load import names
from duolog_pipelines.option import Option, declared, read_count
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Chart, Section, Table

_PARTITIONS = (
    "topic",
    "partition",
    "leader",
    "records",
    "bytes",
    "share",
    "skew",
    "stored_records",
    "stored_bytes",
)
_HOT_KEYS = ("topic", "partition", "key", "records", "bytes", "share")
_GROWTH = ("kind", "name", "bytes", "bytes_per_day")
ROWS_MAX = 100
"""Limit of a report's table; the Delta tables have all rows."""
CHART_PARTITIONS_MAX = 20


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise ValueError("is no number above 0 and up to 1")
    return value


class Load:
    name = "load"
    description = "Measures skew, hot keys and growth; advises partitions to add or move."
    options: Mapping[str, Option] = declared(
        Option(
            "window_seconds",
            "3600",
            read_count,
            "Length of the window, up to now, whose records are measured.",
        ),
        Option(
            "hot_share",
            "0.1",
            _share,
            "Share of a topic's records from which on a key counts as hot.",
        ),
        Option(
            "partition_rate",
            str(10 << 20),
            read_count,
            "Bytes per second that a partition should take at most, averaged over the window.",
        ),
        Option("growth_days", "7", read_count, "Days over which growth is measured."),
    )

    def run(self, stage: Stage) -> Outcome:
        from duolog_pipelines.load import job

        return job.run(stage)

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        raise NotAllowed(
            "The load is always measured up to now. Run it with -O window_seconds=… to look back."
        )

    def sections(self, lake: Lake) -> Sequence[Section]:
        partitions = lake.rows(names.PARTITIONS)
        if not partitions:
            return []
        partitions.sort(key=lambda row: (-row["bytes"], row["topic"], row["partition"]))
        keys = [{**row, "key": _text(row["key"])} for row in lake.rows(names.HOT_KEYS)]
        advice = [[_told(each), each.reason] for each in _advice(lake)]
        tables = [
            Table("Partitions", _PARTITIONS, _cells(partitions, _PARTITIONS)),
            Table("Hot keys", _HOT_KEYS, _cells(keys, _HOT_KEYS)),
            Table("Growth", _GROWTH, _cells(lake.rows(names.GROWTH), _GROWTH)),
            Table("Advice, for `duolog cluster apply`", ("what", "why"), advice),
        ]
        shown = [each for each in tables if each.rows]
        return [Section("Load", tables=shown, charts=[_chart(partitions)])]


def _chart(partitions: Sequence[Mapping[str, Any]]) -> Chart:
    busiest = partitions[:CHART_PARTITIONS_MAX]
    return Chart(
        "Inflow of the busiest partitions",
        "bars",
        [f"{row['topic']}/{row['partition']}" for row in busiest],
        {"bytes a second": [row["bytes_per_second"] for row in busiest]},
        "B/s",
    )


def _cells(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[list[Any]]:
    return [[_cell(row[name]) for name in columns] for row in rows[:ROWS_MAX]]


def _cell(value: Any) -> Any:
    return round(value, 3) if isinstance(value, float) else value


def _advice(lake: Lake) -> Sequence[Action]:
    file = lake.exports("load") / names.ADVICE
    return decode_advice(file.read_bytes()).actions if file.exists() else ()


def _told(action: Action) -> str:
    if isinstance(action, AddPartitions):
        return f"{action.topic}: {action.partitions} partitions"
    nodes = ", ".join(map(str, action.replicas))
    return f"partition {action.partition} of {action.topic} to {nodes}"


def _text(key: bytes) -> str:
    return key.decode(errors="backslashreplace")


PIPELINE: Pipeline = Load()
