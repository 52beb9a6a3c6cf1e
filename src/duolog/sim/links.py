"""Links between machines: which can hear which, and with what latency."""

from collections.abc import Callable
from random import Random

LATENCY_NS = 150_000
JITTER_NS = 150_000
RETRANSMISSION_NS = 200_000_000
"""Longest time after which lost bytes are sent again, once the link works."""


class Links:
    """One-way links between machines, by their names. All are up until they are cut."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._cut: dict[tuple[str, str], int] = {}
        """Number of faults that cut the link now."""
        self._rejecting: dict[tuple[str, str], int] = {}
        """Number of faults that refuse connections from the first machine to the second."""
        self._delays_ns: dict[tuple[str, str], int] = {}
        self._down: dict[str, None] = {}
        self._stuck: list[Callable[[], None]] = []

    def is_cut(self, source: str, target: str) -> bool:
        return bool(self._cut) and (source, target) in self._cut

    def is_down(self, machine: str) -> bool:
        return machine in self._down

    def lets_through(self, source: str, target: str) -> bool:
        if not self._cut and not self._down:
            return True
        return not self.is_cut(source, target) and not self.is_down(target)

    def latency_ns(self, source: str, target: str) -> int:
        usual = LATENCY_NS + int(self._random.random() * JITTER_NS)
        if self._delays_ns:
            most_ns = self._delays_ns.get((source, target), 0)
            return usual + int(self._random.random() * most_ns)
        return usual

    def retransmission_ns(self) -> int:
        return int(self._random.random() * RETRANSMISSION_NS)

    def cut(self, source: str, target: str) -> None:
        self._cut[source, target] = self._cut.get((source, target), 0) + 1

    def heal(self, source: str, target: str) -> None:
        left = self._cut.get((source, target), 0) - 1
        if left > 0:
            self._cut[source, target] = left
        elif self._cut.pop((source, target), None):
            self._tell()

    def rejects(self, source: str, target: str) -> bool:
        return bool(self._rejecting) and (source, target) in self._rejecting

    def reject(self, source: str, target: str) -> None:
        """Refuse new connections in the target's name; the target does not hear of them."""
        self._rejecting[source, target] = self._rejecting.get((source, target), 0) + 1

    def accept(self, source: str, target: str) -> None:
        left = self._rejecting[source, target] - 1
        if left:
            self._rejecting[source, target] = left
        else:
            del self._rejecting[source, target]

    def delay(self, source: str, target: str, most_ms: int) -> None:
        """Delay each packet by up to that much; 0 ends it."""
        self._delays_ns[source, target] = most_ms * 1_000_000
        if not most_ms:
            del self._delays_ns[source, target]

    def take_down(self, machine: str) -> None:
        self._down[machine] = None

    def bring_up(self, machine: str) -> None:
        if machine in self._down:
            del self._down[machine]
            self._tell()

    def when_mended(self, retry: Callable[[], None]) -> None:
        """Call `retry` once, after the next repair of any link or machine."""
        self._stuck.append(retry)

    def _tell(self) -> None:
        stuck, self._stuck = self._stuck, []
        for retry in stuck:
            retry()
