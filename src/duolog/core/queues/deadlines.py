"""Deadlines at which messages in flight become visible again.

Stale entries, of messages that were settled or hidden for longer, stay in the heap: finding them
would cost more than the rest. They are skipped when due, and swept out when they outnumber the live
ones.
"""

from collections.abc import Iterator
from heapq import heapify, heappop, heappush

from duolog.core.queues.held import Held

NEVER_MS = 1 << 63
DUE_MAX = 5_000
"""Entries looked at per turn: the time-outs of 100,000 messages may pass at once."""
STALE_ENTRIES_MIN = 1_024
"""Number of stale entries below which a sweep would cost more than they do."""


class Deadlines:
    __slots__ = ("_held", "_offsets_at", "_size", "_times_ms", "soonest_ms")

    def __init__(self, held: dict[int, Held]) -> None:
        self._held = held
        """All messages that were received and are not done, by offset."""
        self._times_ms: list[int] = []
        """Heap of the keys of _offsets_at: one entry per receive, and often per millisecond,
        however many messages it has."""
        self._offsets_at: dict[int, list[int]] = {}
        self._size = 0
        """Number of entries, live and stale."""
        self.soonest_ms = NEVER_MS
        """Time before which nothing is due. A stale entry may make it too early, never too late."""

    def add(self, deadline_ms: int, offsets: list[int]) -> None:
        entries = self._offsets_at.get(deadline_ms)
        if entries is None:
            self._offsets_at[deadline_ms] = offsets
            heappush(self._times_ms, deadline_ms)
            if deadline_ms < self.soonest_ms:
                self.soonest_ms = deadline_ms
        else:
            entries += offsets
        self._size += len(offsets)
        if self._size > 2 * len(self._held) + STALE_ENTRIES_MIN:
            self._sweep()

    def pop_due(self, now_ms: int, count_max: int = DUE_MAX) -> Iterator[tuple[int, Held]]:
        """Removes and yields the messages whose visibility time-out has passed, by deadline.

        If there are more than `count_max`, the rest stays due.
        """
        while count_max > 0 and self._times_ms and self._times_ms[0] <= now_ms:
            deadline_ms = self._times_ms[0]
            offsets = self._offsets_at[deadline_ms]
            if len(offsets) > count_max:
                self._offsets_at[deadline_ms] = offsets[count_max:]
                del offsets[count_max:]
            else:
                heappop(self._times_ms)
                del self._offsets_at[deadline_ms]
            count_max -= len(offsets)
            self._size -= len(offsets)
            for offset in offsets:
                if self._is_live(offset, deadline_ms):
                    yield offset, self._held[offset]
        self._find_soonest()

    def next_ms(self) -> int | None:
        """Time at which the next message in flight becomes visible."""
        while self._times_ms:
            deadline_ms = self._times_ms[0]
            offsets = self._offsets_at[deadline_ms]
            while offsets:
                if self._is_live(offsets[-1], deadline_ms):
                    return deadline_ms
                offsets.pop()
                self._size -= 1
            heappop(self._times_ms)
            del self._offsets_at[deadline_ms]
            self._find_soonest()
        return None

    def _find_soonest(self) -> None:
        self.soonest_ms = self._times_ms[0] if self._times_ms else NEVER_MS

    def _is_live(self, offset: int, deadline_ms: int) -> bool:
        held = self._held.get(offset)
        return held is not None and held.is_in_flight and held.deadline_ms == deadline_ms

    def _sweep(self) -> None:
        """Rebuilds the entries from the messages in flight, for most of the old ones are stale."""
        living: dict[int, list[int]] = {}
        for offset, held in self._held.items():
            if held.is_in_flight:
                living.setdefault(held.deadline_ms, []).append(offset)
        self._offsets_at = living
        self._size = sum(map(len, living.values()))
        self._times_ms = list(living)
        heapify(self._times_ms)
        self._find_soonest()
