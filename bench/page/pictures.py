"""The two pictures that head the page: throughput, and CPU for each message. Pure."""

from collections.abc import Callable
from typing import NamedTuple

from bench.cells import number
from bench.page.loads import cpu_us, rate
from bench.page.svg import Bar, Panel, picture
from bench.report import Report
from bench.samples import Figures


class Shown(NamedTuple):
    group: str
    load: str
    title: str
    note: str


SHOWN = (
    Shown(
        "compare/topics/page-cache",
        "produce",
        "Produce 1 KB, acknowledged from the page cache",
        "as each protocol's clients do it: Kafka's in batches",
    ),
    Shown(
        "compare/topics/disk",
        "produce",
        "Produce 1 KB, acknowledged from disk",
        "as each protocol's clients do it: Kafka's in batches",
    ),
    Shown(
        "compare/topics/page-cache",
        "requests/4x60",
        "One message a request, page cache",
        "100 B, 4 connections, 60 requests unanswered on each",
    ),
    Shown(
        "compare/topics/disk",
        "requests/16x1",
        "One message a request, disk",
        "100 B, 16 connections, one request unanswered on each",
    ),
    Shown(
        "compare/topics/page-cache",
        "consume",
        "Consume 1 KB",
        "what was just produced, from the page cache",
    ),
    Shown("compare/queues", "send/16", "SQS: SendMessage", "1 KB, 16 connections"),
)
FOOT = "Medians of alternating rounds; clients and servers share the machine. docs/performance.md"


def throughput(report: Report) -> str:
    return _picture(
        report, "Messages a second", "More is better. Duolog is blue.", rate, best_is_most=True
    )


def cpu(report: Report) -> str:
    return _picture(
        report,
        "Processor time of the server for each message",
        "Microseconds; less is better. Duolog is blue.",
        cpu_us,
        best_is_most=False,
    )


def _picture(
    report: Report,
    title: str,
    subtitle: str,
    of: Callable[[Figures | None], float | None],
    *,
    best_is_most: bool,
) -> str:
    panels = []
    for shown in SHOWN:
        bars = []
        for comparison in report.comparisons:
            if comparison.group != shown.group:
                continue
            for contestant in comparison.contestants:
                value = of(comparison.figures(shown.load, contestant.name))
                if value is not None:
                    bars.append(Bar(contestant.name, value, number(value), contestant.is_ours))
        bars.sort(key=lambda bar: bar.value, reverse=best_is_most)
        if bars:
            panels.append(Panel(shown.title, shown.note, bars))
    return picture(title, subtitle, FOOT, panels)
