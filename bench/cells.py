"""Rows, verdicts and standings as text cells, shared by the table and the page. Pure."""

from bench.comparison.standing import Absent, Standing
from bench.goals import Verdict
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
STANDING_HEADINGS = (
    "load",
    "server",
    "a second",
    "CPU us",
    "p50 / p99 us",
    "resident MB",
    "warm-up",
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


def standing_cells(standing: Standing) -> list[str]:
    figures = standing.figures
    latencies = [figures.p50_us, figures.p99_us]
    return [
        standing.load,
        standing.contestant,
        number(figures.messages_per_s or figures.requests_per_s),
        number(figures.cpu_us_per_message or figures.cpu_us_per_request),
        " / ".join(map(number, latencies)) if all(latencies) else "",
        number(figures.rss_mb),
        f"{standing.warm_up}" + ("" if standing.settled else ", not settled"),
    ]


def absent_cells(absent: Absent) -> list[str]:
    return ["", absent.name, absent.why, *[""] * (len(STANDING_HEADINGS) - 3)]


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
