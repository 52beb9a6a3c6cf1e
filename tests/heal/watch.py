"""What the kernel and etcd say meanwhile: CPU time of nodes, how long they wait for it, and
whether etcd answers. A thread looks all the time."""

import os
import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

from tests.harness.etcd import Etcd
from tests.harness.node import Node

from duolog.adapters.lease_thread import LEASE_THREAD

LOOK_SECONDS = 0.1
ETCD_SECONDS_MAX = 1.0
TICKS = os.sysconf("SC_CLK_TCK")


class Sample(NamedTuple):
    at: float
    pid: int
    cpu: float
    """Seconds of CPU that the process has used."""
    delay: float
    """Seconds for which its event loop was ready to run, and did not."""
    lease_delay: float
    """The same of the thread that renews its lease."""


class Health(NamedTuple):
    at: float
    seconds: float | None
    """Until etcd answered; None if it did not within a second."""


class Watch:
    """A context manager."""

    def __init__(self, nodes: Sequence[Node], etcd: Etcd) -> None:
        self._nodes = nodes
        self._etcd = etcd
        self._stopping = Event()
        self._samples: dict[int, list[Sample]] = {at: [] for at in range(len(nodes))}
        self._health: list[Health] = []
        self._lease_threads: dict[int, Path] = {}
        self._threads = [
            Thread(target=self._watch_nodes, daemon=True),
            Thread(target=self._watch_etcd, daemon=True),
        ]

    def cpu(self, since: float, until: float) -> float:
        """Seconds of CPU that all processes used that ran at some time in between; one that
        was started meanwhile counts from its first sample on."""
        used = 0.0
        for samples in self._samples.values():
            inside = _between(samples, since, until)
            for before, after in pairwise(inside):
                if before.pid == after.pid:
                    used += after.cpu - before.cpu
        return used

    def delay_share(self, since: float, until: float) -> float:
        """Share of the time for which the event loop that waited most was kept from running."""
        shares = [0.0]
        for samples in self._samples.values():
            inside = _between(samples, since, until)
            delay = sum(
                after.delay - before.delay
                for before, after in pairwise(inside)
                if before.pid == after.pid
            )
            shares.append(delay / max(until - since, 0.001))
        return max(shares)

    def lease_delay(self, node: int, since: float, until: float) -> float:
        """Seconds for which that node's lease thread was kept from running."""
        inside = _between(self._samples[node - 1], since, until)
        return sum(
            after.lease_delay - before.lease_delay
            for before, after in pairwise(inside)
            if before.pid == after.pid
        )

    def etcd_seconds(self, since: float, until: float) -> float | None:
        """The longest answer; None if one did not come within a second."""
        times = [each.at for each in self._health]
        inside = self._health[bisect_left(times, since) : bisect_right(times, until)]
        answers = [each.seconds for each in inside]
        known = [each for each in answers if each is not None]
        return max(known, default=0.0) if len(known) == len(answers) else None

    def _watch_nodes(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            for at, node in enumerate(self._nodes):
                # It may have ended a moment ago.
                with suppress(OSError, ValueError, IndexError):
                    self._samples[at].append(self._sample(node))

    def _sample(self, node: Node) -> Sample:
        pid = node.pid
        proc = Path(f"/proc/{pid}")
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        cpu = (int(fields[11]) + int(fields[12])) / TICKS
        delay = _delay(proc / "schedstat")
        thread = self._lease_thread(pid)
        lease_delay = 0.0 if thread is None else _delay(thread / "schedstat")
        return Sample(time.monotonic(), pid, cpu, delay, lease_delay)

    def _lease_thread(self, pid: int) -> Path | None:
        if pid not in self._lease_threads:
            for thread in Path(f"/proc/{pid}/task").iterdir():
                if (thread / "comm").read_text().strip() == LEASE_THREAD:
                    self._lease_threads[pid] = thread
        return self._lease_threads.get(pid)

    def _watch_etcd(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            at = time.monotonic()
            is_healthy = self._etcd.answers(ETCD_SECONDS_MAX)
            self._health.append(Health(at, time.monotonic() - at if is_healthy else None))

    def __enter__(self) -> "Watch":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def _between(samples: list[Sample], since: float, until: float) -> list[Sample]:
    times = [each.at for each in samples]
    first = max(bisect_right(times, since) - 1, 0)
    return samples[first : bisect_right(times, until)]


def _delay(schedstat: Path) -> float:
    return int(schedstat.read_text().split()[1]) / 1e9
