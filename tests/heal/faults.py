"""What happens to the cluster: each fault has a beginning, from which time counts, and an end."""

import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.harness.node import Node
from tests.heal.place import Place

FROZEN_SECONDS = 8.0
CUTS_APART_SECONDS = 31.0
"""A cluster moves a partition for the sake of cuts at most once in 30 s."""
UP_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.005
FILL_BYTES = (1 << 20, 1 << 16, 1 << 12, 1)


class Fault(ABC):
    """`victims` are the numbers of the nodes that it hurts."""

    seconds: float | None = None
    """So long it lasts; None: until everything is served."""
    needs_machines = False
    """Whether nodes must have networks and disks of their own."""

    starts_nodes = False
    """Whether nodes start while time counts, and keep each other from running."""

    def __init__(self, place: Place, number: int, turn: int) -> None:
        """`number`: whom it hurts. `turn`: which round of this fault it is."""
        self.place = place
        self.number = number
        self.turn = turn
        self.victims = {number}
        self.node = place.cluster.nodes[number]

    def prepare(self) -> None:  # noqa: B027
        """Wait until a cluster that is well can be expected to bear it."""

    @abstractmethod
    def begin(self) -> float:
        """The monotonic time from which on clients may expect to be served."""

    @abstractmethod
    def end(self) -> None:
        """Put everything right again."""

    def __str__(self) -> str:
        return f"node {self.number}"


class Kill(Fault):
    def begin(self) -> float:
        since = time.monotonic()
        self.node.kill()
        return since

    def end(self) -> None:
        self.node.start()


class Freeze(Fault):
    seconds = FROZEN_SECONDS

    def begin(self) -> float:
        since = time.monotonic()
        self.node.freeze()
        return since

    def end(self) -> None:
        self.node.thaw()


class _Cut(Fault):
    needs_machines = True
    _last = -CUTS_APART_SECONDS
    """When the last cut of all ended."""

    def prepare(self) -> None:
        time.sleep(max(0.0, _Cut._last + CUTS_APART_SECONDS - time.monotonic()))

    def begin(self) -> float:
        distant = self.place.distant
        assert distant is not None
        own = distant.node_machine(self.number)
        peers = [each for each in distant.node_machines if each != own]
        since = time.monotonic()
        self.cut(own, peers)
        return since

    @abstractmethod
    def cut(self, own: str, peers: Sequence[str]) -> None: ...

    def end(self) -> None:
        assert self.place.distant is not None
        self.place.distant.network.heal()
        _Cut._last = time.monotonic()


class OneWayCut(_Cut):
    """Between a node and its peers packets get through one way only: in turn out and in."""

    def cut(self, own: str, peers: Sequence[str]) -> None:
        assert self.place.distant is not None
        network = self.place.distant.network
        if self.turn % 2:
            network.silence([own], peers)
        else:
            network.silence(peers, [own])

    def __str__(self) -> str:
        heard = "is not heard by" if self.turn % 2 else "does not hear"
        return f"node {self.number} {heard} its peers"


class TwoWayCut(_Cut):
    def cut(self, own: str, peers: Sequence[str]) -> None:
        assert self.place.distant is not None
        self.place.distant.network.cut([own], peers)


class FullDisk(Fault):
    needs_machines = True

    @property
    def _ballast(self) -> Path:
        assert self.place.distant is not None
        return self.place.distant.disks[self.number].mounted / "ballast"

    def begin(self) -> float:
        fill(self._ballast)
        return time.monotonic()

    def end(self) -> None:
        self._ballast.unlink()


def fill(ballast: Path) -> None:
    """Until not one byte fits any more."""
    with ballast.open("wb", buffering=0) as file:
        free = os.statvfs(ballast.parent)
        blocks_bytes = free.f_bfree * free.f_frsize
        for size in (blocks_bytes, *FILL_BYTES):
            try:
                while True:
                    end = file.seek(0, os.SEEK_END)
                    os.posix_fallocate(file.fileno(), end, size)
            except OSError:
                continue


class AllKilled(Fault):
    """All nodes at once; they are started again, and time counts from when all of them listen."""

    starts_nodes = True

    def __init__(self, place: Place, number: int, turn: int) -> None:
        super().__init__(place, number, turn)
        self.victims = set(place.cluster.nodes)
        self.start_seconds = 0.0

    def begin(self) -> float:
        nodes = list(self.place.cluster.nodes.values())
        for node in nodes:
            node.kill()
        began = time.monotonic()
        for node in nodes:
            node.spawn()
        for node in nodes:
            _until_it_listens(node)
        since = time.monotonic()
        self.start_seconds = since - began
        return since

    def end(self) -> None:
        for node in self.place.cluster.nodes.values():
            node.until_ready()

    def __str__(self) -> str:
        return f"all nodes, which listen after {self.start_seconds:.1f} s"


def _until_it_listens(node: Node) -> None:
    deadline = time.monotonic() + UP_SECONDS_MAX
    for address in (node.kafka, node.sqs):
        host, _, port = address.rpartition(":")
        while True:
            try:
                socket.create_connection((host, int(port)), 1.0).close()
                break
            except OSError:
                assert time.monotonic() < deadline, f"{address} does not listen"
                time.sleep(LOOK_SECONDS)


# Other faults are between the two kinds of cuts, which must not follow each other soon.
FAULTS: dict[str, Callable[[Place, int, int], Fault]] = {
    "kill": Kill,
    "one-way": OneWayCut,
    "freeze": Freeze,
    "full-disk": FullDisk,
    "two-way": TwoWayCut,
    "all-killed": AllKilled,
}
