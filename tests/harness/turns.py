"""Long turns of a node's event loop, as it has logged them, and whether the host is to blame."""

import json
from pathlib import Path
from typing import NamedTuple

LONG_TURN = "the event loop is held up by a long turn"


class Turn(NamedTuple):
    cpu_ms: int
    stack: list[str]


def longest_turn(log_text: str) -> Turn | None:
    """The longest turn in a log of JSON lines; None without any that was long."""
    told = (json.loads(line) for line in log_text.splitlines() if LONG_TURN in line)
    turns = (Turn(line["cpu_ms"], line["stack"]) for line in told)
    return max(turns, default=None)


def run_delay_share(pid: int) -> float:
    """Share of its time on the run queue for which a process has waited for a CPU."""
    ran_ns, waited_ns, _ = map(int, Path(f"/proc/{pid}/schedstat").read_text().split())
    return waited_ns / max(1, ran_ns + waited_ns)
