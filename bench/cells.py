"""Rows, verdicts and peers as text cells, shared by the table and the markdown. Pure."""

from bench.goals import Verdict
from bench.peers.peer import PeerResult
from bench.peers.queue_peer import QueuePeerResult
from bench.rows import Row

HEADINGS = (
    "workload",
    "ours",
    "floor",
    "ratio",
    "CPU ms/MB (floor)",
    "CPU us/request (floor)",
    "core",
    "spread (CPU)",
    "others",
    "p50 / p99 / p99.9 us",
)
GOAL_HEADINGS = ("", "goal", "limit", "measured")
PEER_HEADINGS = ("peer", "durability", "produced/s", "CPU us", "consumed/s", "CPU us", "note")
QUEUE_PEER_HEADINGS = (
    "peer of queues",
    "durability",
    "sent/s",
    "CPU us",
    "received/s",
    "CPU us",
    "deleted/s",
    "CPU us",
    "note",
)
_UNITS = {
    "mb_per_s": "MB/s",
    "messages_per_s": "msg/s",
    "requests_per_s": "req/s",
    "cpu_us_per_request": "us",
    "p50_us": "us",
    "p99_us": "us",
    "seconds": "s",
    "rss_mb": "MB",
}
_NAMES = {"cpu_us_per_request": "CPU ", "p50_us": "p50 ", "p99_us": "p99 "}
_MARKS = {True: "pass", False: "MISS", None: "void"}
"""Void: measured, but by a run too disturbed to say so."""


def number(value: float | None) -> str:
    """Three significant digits below a hundred, and thousands apart above."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def workload_cells(row: Row) -> list[str]:
    if row.ours is None:
        return [row.title, row.note, *[""] * (len(HEADINGS) - 2)]
    return [
        row.title,
        _headline(row, row.of_ours(row.headline)),
        _headline(row, row.of_floor(row.headline)),
        number(row.ratio),
        _beside(row, "cpu_ms_per_mb"),
        _beside(row, "cpu_us_per_request"),
        _percent(row.of_ours("cpu_share")),
        _spread(row),
        _percent(row.of_ours("others_cores")),
        _latencies(row),
    ]


def goal_cells(verdict: Verdict) -> list[str]:
    bound = "at least" if verdict.at_least else "at most"
    measured = f"{number(verdict.measured)} {verdict.unit}" if verdict.measured is not None else ""
    limit = f"{bound} {number(verdict.limit)} {verdict.unit}"
    return [_MARKS[verdict.passed], verdict.text, limit, measured]


def peer_cells(result: PeerResult) -> list[str]:
    return [
        result.name,
        result.durability,
        number(result.produced_per_s),
        number(result.produce_cpu_us),
        number(result.consumed_per_s),
        number(result.consume_cpu_us),
        result.note,
    ]


def queue_peer_cells(result: QueuePeerResult) -> list[str]:
    return [
        result.name,
        result.durability,
        number(result.sent_per_s),
        number(result.send_cpu_us),
        number(result.received_per_s),
        number(result.receive_cpu_us),
        number(result.deleted_per_s),
        number(result.delete_cpu_us),
        result.note,
    ]


def _headline(row: Row, value: float | None) -> str:
    if value is None:
        return ""
    return f"{_NAMES.get(row.headline, '')}{number(value)} {_UNITS[row.headline]}"


def _beside(row: Row, figure: str) -> str:
    ours, floor = row.of_ours(figure), row.of_floor(figure)
    return number(ours) + (f" ({number(floor)})" if ours is not None and floor is not None else "")


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def _spread(row: Row) -> str:
    wall, cpu = row.of_ours("spread"), row.of_ours("cpu_spread")
    return _percent(wall) + (f" ({_percent(cpu)})" if cpu is not None else "")


def _latencies(row: Row) -> str:
    values = [row.of_ours(name) for name in ("p50_us", "p99_us", "p999_us")]
    return " / ".join(number(value) for value in values) if all(values) else ""
