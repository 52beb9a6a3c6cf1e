"""Other work on this machine: processes that only count."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

COMMAND = [sys.executable, "-S", "-c", "while True: pass"]


class BusyLoops:
    """A context manager: so many of them, which can be paused."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> "BusyLoops":
        self._processes = [subprocess.Popen(COMMAND) for _ in range(self._count)]
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """While nothing is measured."""
        self._signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes:
            process.send_signal(number)
