"""The pipeline `audit`, as the registry knows it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from duolog_pipelines.audit import names
from duolog_pipelines.errors import NotAllowed
from duolog_pipelines.lake import Lake
from duolog_pipelines.option import Option, declared, read_choice, read_count, read_text
from duolog_pipelines.pipeline import Outcome, Pipeline, Span, Stage
from duolog_pipelines.report.section import Chart, Section, Table

_BALANCE = (
    "name",
    "kind",
    "accepted",
    "delivered",
    "deleted",
    "dead_lettered",
    "moved",
    "expired",
    "purged",
    "removed",
    "unreadable",
    "there",
    "unaccounted",
)
_PRODUCERS = ("topic", "producer", "messages", "missing", "duplicates", "unnumbered")
_LATENCY = ("queue", "bucket", "until", "messages", "p50_ms", "p90_ms", "p99_ms", "max_ms")
LATENCY_ROWS_MAX = 200
"""Newest latency rows that a report shows; the table has all."""
CHART_BUCKETS_MAX = 48
CHART_QUEUES_MAX = 5


def _names(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


class Audit:
    name = "audit"
    description = "Accounts for every message; finds losses, duplicates and latencies."
    options: Mapping[str, Option] = declared(
        Option("topics", "", read_text, "Topics to audit, separated by commas; all by default."),
        Option("queues", "", _names, "Queues to audit, separated by commas; all by default."),
        Option("bucket_seconds", "300", read_count, "Length of a time bucket."),
        Option(
            "messages",
            "log",
            read_choice("log", "archive"),
            "Source of messages for losses, duplicates and latencies: `log`, or `archive`, which"
            " keeps them beyond their retention.",
        ),
    )

    def run(self, stage: Stage) -> Outcome:
        from duolog_pipelines.audit import job

        return job.run(stage)

    def backfill(self, stage: Stage, span: Span) -> Outcome:
        raise NotAllowed(
            "An audit always covers everything that is stored. Run it with -O messages=archive to"
            " look further back."
        )

    def sections(self, lake: Lake) -> Sequence[Section]:
        balances = sorted(lake.rows(names.BALANCE), key=lambda row: (row["kind"], row["name"]))
        if not balances:
            return []
        latest = sorted(lake.rows(names.LATENCY), key=lambda row: (row["bucket"], row["queue"]))
        cut = [row for row in balances if row["since_ms"] is not None]
        tables = [
            Table("Fates of messages", _BALANCE, _cells(balances, _BALANCE), _note(cut)),
            Table(
                "Producers that number their messages",
                _PRODUCERS,
                _cells(lake.rows(names.PRODUCERS), _PRODUCERS),
            ),
            Table(
                "Latency in milliseconds, from sending to the first receive and to deletion",
                _LATENCY,
                _cells(latest[-LATENCY_ROWS_MAX:], _LATENCY),
            ),
        ]
        text = "accepted is the sum of the columns from deleted to unaccounted."
        chart = _chart([row for row in latest if row["until"] == "receive"])
        shown = [each for each in tables if each.rows]
        return [Section("Audit", text, shown, [chart] if chart.labels else [])]


def _cells(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> list[list[Any]]:
    return [[_cell(row[name]) for name in columns] for row in rows]


def _cell(value: Any) -> Any:
    match value:
        case datetime():
            return f"{value:%F %H:%M}"
        case float():
            return round(value)
        case _:
            return value


def _chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    """99th percentile of the latency until the first receive, for the busiest queues."""
    buckets = sorted({row["bucket"] for row in rows})[-CHART_BUCKETS_MAX:]
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["queue"]] = counts.get(row["queue"], 0) + row["messages"]
    busiest = sorted(counts, key=lambda queue: (-counts[queue], queue))[:CHART_QUEUES_MAX]
    known = {(row["queue"], row["bucket"]): row["p99_ms"] for row in rows}
    return Chart(
        "Latency until the first receive, 99th percentile",
        "lines",
        [f"{bucket:%m-%d %H:%M}" for bucket in buckets],
        {queue: [known.get((queue, bucket), 0.0) for bucket in buckets] for queue in busiest},
        "ms",
    )


def _note(cut: Sequence[Mapping[str, Any]]) -> str:
    """Sentence on queues whose journals were cut; empty if there are none."""
    told = [
        f"'{row['name']}' since {datetime.fromtimestamp(row['since_ms'] / 1000, UTC):%F %T} UTC"
        for row in cut
    ]
    if not told:
        return ""
    return (
        "Journals that were cut leave out messages done before the cut:"
        f" {', '.join(told)}. duolog:RetainDeleted keeps them longer."
    )


PIPELINE: Pipeline = Audit()
