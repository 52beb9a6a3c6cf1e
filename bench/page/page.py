"""Fills the page's template with what a report holds. Pure, but for reading the template."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from bench import cells
from bench.cells import number
from bench.comparison.standing import Comparison
from bench.goals import OTHERS_CORES_MAX, is_disturbed
from bench.page.behind import behind, signing
from bench.page.tables import absent, contestants, latencies, speeds, table, texts
from bench.report import Report

TEMPLATE = Path(__file__).with_name("page.md")
GOALS_TEMPLATE = Path(__file__).with_name("goals.md")
_FLOOD = [("produce", "produced/s"), ("consume", "consumed/s")]
_SHAPES = [
    ("requests/1x1", "1 connection"),
    ("requests/4x1", "4 connections"),
    ("requests/16x1", "16 connections"),
    ("requests/4x60", "4, 60 deep"),
]
_RATES = [("latency/1000", "1,000/s"), ("latency/10000", "10,000/s")]


def page(report: Report) -> str:
    slots = {
        "machine": _machine(report.machine),
        "rounds": _rounds(report),
        "comparisons": "".join(_sections(report)),
        "behind": _behind(report),
        "signing": _signing(report),
        "goals": _goals(report),
        "runs": _runs(report),
    }
    return _filled(TEMPLATE, slots)


def _filled(template: Path, slots: Mapping[str, str]) -> str:
    text = template.read_text(encoding="utf-8")
    for name, value in slots.items():
        text = text.replace("{{" + name + "}}", value)
    return text


def _machine(machine: Mapping[str, str]) -> str:
    return (
        f"Measured on {machine['date']}: {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory']} of memory, Linux {machine['kernel']}, {machine['filesystem']}, "
        f"{machine['python']}, {machine['versions']}, librdkafka {machine['librdkafka']}."
    )


def _rounds(report: Report) -> str:
    counts = sorted({comparison.rounds for comparison in report.comparisons})
    return " or ".join(map(str, counts))


def _sections(report: Report) -> Iterator[str]:
    for comparison in report.comparisons:
        title, body = _SECTIONS[comparison.group]
        parts = [f"## {title}", *body(comparison), "Servers:", contestants(comparison)]
        parts += filter(None, (absent(comparison), _disturbed(comparison)))
        yield "\n\n".join(parts) + "\n\n"


def _disturbed(comparison: Comparison) -> str:
    standings = comparison.standings
    others = [standing.figures.others_cores or 0.0 for standing in standings]
    count = sum(cores > OTHERS_CORES_MAX for cores in others)
    if not count:
        return ""
    return (
        f"{count} of {len(standings)} figures are disturbed: processes that were not part of it "
        "used more than a quarter of a core meanwhile."
    )


def _topics(comparison: Comparison) -> Iterator[str]:
    yield (
        "As many messages of 1 KB as go through one partition, stream or queue, then all of "
        "them consumed:"
    )
    yield speeds(comparison, _FLOOD, memory="consume")
    yield "One message of 100 B in each request, in messages a second:"
    yield speeds(comparison, _SHAPES)
    yield (
        "From the producer to the consumer, 1 KB, nothing held back to make batches "
        "(librdkafka with `linger.ms=0`). A rate in brackets is what was reached instead:"
    )
    yield latencies(comparison, _RATES)


def _queues(comparison: Comparison) -> Iterator[str]:
    yield "Messages of 1 KB, one in each request, by the number of connections:"
    for step in ("send", "receive", "delete"):
        columns = [(f"{step}/{count}", f"{step} a second, {count}") for count in (1, 4, 16)]
        yield speeds(comparison, columns, memory="send/16" if step == "send" else "")
    yield "From sending a message to its arrival at a receiver that waits in a long poll:"
    yield latencies(comparison, [("poll", "100/s")])


def _celery(comparison: Comparison) -> Iterator[str]:
    yield (
        "A task that does next to nothing, one producer and one worker process: as many as go "
        "through, and the time from the call to the run of the task at 50 a second. Both are "
        "mostly Celery's own work. The prefetch is 100 on both sides: with Celery's default of "
        "four its SQS transport fetches four tasks a second from any server."
    )
    yield speeds(comparison, [("tasks", "tasks a second")], memory="tasks")
    yield latencies(comparison, [("task", "50/s")])


def _cluster(comparison: Comparison) -> Iterator[str]:
    yield (
        "Three nodes on the same cores and one disk, three partitions of three replicas, "
        "`acks=all`; CPU and memory are those of all nodes, and for Duolog also of its etcd:"
    )
    yield speeds(comparison, _FLOOD, memory="consume")
    yield latencies(comparison, _RATES[:1])


_SECTIONS: dict[str, tuple[str, Callable[[Comparison], Iterator[str]]]] = {
    "compare/topics/page-cache": ("Topics, acknowledged from the page cache", _topics),
    "compare/topics/disk": ("Topics, acknowledged from disk", _topics),
    "compare/queues": ("Queues: the SQS API", _queues),
    "compare/celery": ("Celery, over SQS and over RabbitMQ", _celery),
    "compare/cluster": ("Three nodes", _cluster),
}


def _behind(report: Report) -> str:
    lines = [
        [_SECTIONS[comparison.group][0], each.load, each.metric, each.ours, each.theirs]
        for comparison in report.comparisons
        for each in behind(comparison)
    ]
    if not lines:
        return "None, in this run."
    return texts(["comparison", "load", "figure", "Duolog", "better"], lines)


def _signing(report: Report) -> str:
    for comparison in report.comparisons:
        steps = tuple(f"{step}/16" for step in ("send", "receive", "delete"))
        if comparison.group == "compare/queues" and (ratios := signing(comparison, steps)):
            low, high = ratios
            return (
                f"A node with credentials takes {number(low)} to {number(high)} times the CPU of "
                "an open one for SQS requests over 16 connections: it checks the signature of "
                "each. Neither ElasticMQ nor moto checks any.\n\n"
            )
    return ""


def _goals(report: Report) -> str:
    if not report.rows:
        return ""
    disturbed = sum(map(is_disturbed, report.rows))
    note = (
        f"{disturbed} of {len(report.rows)} rows are disturbed: other processes used more than a "
        "quarter of a core meanwhile.\n\n"
    )
    slots = {
        "rows": table(cells.HEADINGS, [cells.workload_cells(row) for row in report.rows]),
        "disturbed": note if disturbed else "",
        "goals": texts(cells.GOAL_HEADINGS, [cells.goal_cells(each) for each in report.judged]),
    }
    return _filled(GOALS_TEMPLATE, slots)


def _runs(report: Report) -> str:
    lines = [
        [", ".join(run.groups), run.date, f"{run.took_seconds / 60:.1f} min", f"`{run.command}`"]
        for run in report.runs
    ]
    return texts(["part", "begun", "took", "command"], lines)
