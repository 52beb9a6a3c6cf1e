"""Who used the processors during a run: the server, its load, or somebody else."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from bench.processes import Server

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_IDLE_FIELDS = (3, 4)
"""Of the first line of /proc/stat: idle, and waiting for a disk."""
_FIELDS = 8
"""What follows, guests' time, is already in the fields before."""


@dataclass(frozen=True, slots=True)
class Usage:
    cpu_seconds: float
    """All threads of the server."""
    others_cores: float
    """What neither the server nor its load used, in cores: the noise of the run."""


class Meter:
    """Runs from its making to `read`."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._cpu_seconds = server.cpu_seconds()
        self._busy_seconds = machine_busy_seconds()
        self._began = time.monotonic()

    def read(self, *, load_cpu_seconds: float) -> Usage:
        elapsed = time.monotonic() - self._began
        busy = machine_busy_seconds() - self._busy_seconds
        cpu_seconds = self._server.cpu_seconds() - self._cpu_seconds
        others = max(busy - cpu_seconds - load_cpu_seconds, 0.0)
        return Usage(cpu_seconds, others / elapsed)


def machine_busy_seconds() -> float:
    """CPU time that all processes, interrupts and other virtual machines took since boot."""
    line = Path("/proc/stat").read_text().partition("\n")[0]
    ticks = [int(field) for field in line.split()[1 : 1 + _FIELDS]]
    return sum(ticks[i] for i in range(_FIELDS) if i not in _IDLE_FIELDS) / _TICKS_PER_SECOND
