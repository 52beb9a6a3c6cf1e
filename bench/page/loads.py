"""The loads of the comparisons by the names that readers see. Pure."""

from bench.cells import number
from bench.samples import Figures

LOADS = {
    "produce": "produce 1 KB",
    "consume": "consume 1 KB",
    "requests/1x1": "one message a request, 1 connection",
    "requests/4x1": "one message a request, 4 connections",
    "requests/16x1": "one message a request, 16 connections",
    "requests/4x60": "one message a request, 4 connections, 60 deep",
    "latency/1000": "end to end at 1,000 a second",
    "latency/10000": "end to end at 10,000 a second",
    "poll": "send to a waiting receiver, 100 a second",
    "tasks": "as many tasks as there can be",
    "task": "50 tasks a second",
    **{
        f"{step}/{connections}": f"{step}, {connections} connection{'s' * (connections > 1)}"
        for step in ("send", "receive", "delete")
        for connections in (1, 4, 16)
    },
}
PACED = {"latency/1000": 1_000, "latency/10000": 10_000, "poll": 100, "task": 50}
"""Messages a second that a load has, where a server is not asked for all that it can do."""
_KEPT = 0.95


def rate(figures: Figures | None) -> float | None:
    return (figures.messages_per_s or figures.requests_per_s) if figures else None


def cpu_us(figures: Figures | None) -> float | None:
    """The server's, for each message."""
    return (figures.cpu_us_per_message or figures.cpu_us_per_request) if figures else None


def is_kept(load: str, figures: Figures) -> bool:
    """Whether a paced load went at its pace."""
    return (rate(figures) or 0.0) >= _KEPT * PACED[load]


def milliseconds(us: float | None) -> str:
    return "" if us is None else number(us / 1000)
