"""Long turns of a node's event loop, as it has logged them, and whether the host is to blame."""

import json
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

LONG_TURN = "the event loop is held up by a long turn"

REFERENCE_STEPS = 200_000
REFERENCE_S = 0.0045
"""CPU time of these steps on the machine for which the limits of tests are meant."""


class Turn(NamedTuple):
    callback_ms: int
    """CPU time for which one callback, or step of a task, was at work."""
    stack: list[str]


def longest_turn(log_text: str) -> Turn | None:
    """The longest turn in a log of JSON lines; None without any that was long."""
    told = (json.loads(line) for line in log_text.splitlines() if LONG_TURN in line)
    turns = (Turn(line["callback_ms"], line["stack"]) for line in told)
    return max(turns, default=None)


def run_delay_share(pid: int) -> float:
    """Share of its time on the run queue for which a process has waited for a CPU."""
    ran_ns, waited_ns, _ = map(int, Path(f"/proc/{pid}/schedstat").read_text().split())
    return waited_ns / max(1, ran_ns + waited_ns)


@cache
def slowness() -> float:
    """How many times slower than the reference this machine is; 1 if it is not."""
    return max(1.0, min(_steps_s() for _ in range(3)) / REFERENCE_S)


def _steps_s() -> float:
    began = time.thread_time()
    total = 0
    for step in range(REFERENCE_STEPS):
        total += step & 3
    return time.thread_time() - began
