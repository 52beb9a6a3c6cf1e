"""Delayed messages, by the time at which they become ready."""

from array import array
from heapq import heapify, heappop, heappush

from duolog.core.queues.deadlines import DUE_MAX, NEVER_MS
from duolog.core.queues.ranges import OffsetRanges
from duolog.records.delivery_image import Image, from_column, to_column

STALE_OFFSETS_MIN = 1_024
"""Number of stale offsets in the time index below which it is not swept."""


class Delayed:
    __slots__ = ("_due_at", "_ranges", "_stale", "_times_ms", "soonest_ms")

    def __init__(self) -> None:
        self._ranges = OffsetRanges()
        self._due_at: dict[int, list[int]] = {}
        """Due time → first and next offset of each range in turn. Ranges that were removed from
        _ranges meanwhile are still here."""
        self._times_ms: list[int] = []
        """Heap of the keys of _due_at."""
        self._stale = 0
        self.soonest_ms = NEVER_MS
        """Time before which nothing is due; may be too early after a removal, never too late."""

    def __contains__(self, offset: int) -> bool:
        return offset in self._ranges

    @property
    def count(self) -> int:
        return self._ranges.count

    @property
    def ranges(self) -> OffsetRanges:
        """Delayed offsets; for reading only."""
        return self._ranges

    def append(self, first: int, next_offset: int, due_ms: int) -> None:
        """Adds messages that were sent after all others."""
        self._ranges.append(first, next_offset)
        ranges = self._due_at.get(due_ms)
        if ranges is None:
            self._due_at[due_ms] = [first, next_offset]
            heappush(self._times_ms, due_ms)
            self._find_soonest()
        elif ranges[-1] == first:
            ranges[-1] = next_offset
        else:
            ranges += (first, next_offset)

    def discard(self, offset: int) -> bool:
        """Removes a message before it is due; False if it is not delayed."""
        if not self._ranges.count or not self._ranges.discard(offset):
            return False
        self._note_stale(1)
        return True

    def remove_below(self, before_offset: int) -> int:
        removed = self._ranges.remove_below(before_offset)
        self._note_stale(removed)
        return removed

    def truncate(self, end_offset: int) -> int:
        removed = self._ranges.remove_from(end_offset)
        # Sweep at once: these offsets will be given to other messages, with delays of their own.
        self._sweep()
        return removed

    def pop_due(self, now_ms: int, count_max: int = DUE_MAX) -> list[tuple[int, int]]:
        """Removes and returns the ranges that are due.

        If they have more than `count_max` messages, the rest stays due.
        """
        due: list[tuple[int, int]] = []
        while count_max > 0 and self._times_ms and self._times_ms[0] <= now_ms:
            ranges = self._due_at[self._times_ms[0]]
            at = 0
            while at < len(ranges) and count_max > 0:
                first, end_offset = ranges[at : at + 2]
                next_offset = min(end_offset, first + count_max)
                count_max -= next_offset - first
                removed = self._ranges.remove(first, next_offset)
                self._stale -= next_offset - first
                self._stale += sum(after - before for before, after in removed)
                due += removed
                if next_offset == end_offset:
                    at += 2
                else:
                    ranges[at] = next_offset
            if at == len(ranges):
                del self._due_at[heappop(self._times_ms)]
            else:
                del ranges[:at]
        self._find_soonest()
        return due

    def next_ms(self) -> int | None:
        """Time at which the next delayed message becomes ready."""
        if self._stale:
            while self._times_ms and not self._has_living(self._times_ms[0]):
                del self._due_at[heappop(self._times_ms)]
            self._find_soonest()
        return self._times_ms[0] if self._times_ms else None

    def save(self, image: Image) -> None:
        self._sweep()
        living = [
            (ranges[at], ranges[at + 1], due_ms)
            for due_ms, ranges in self._due_at.items()
            for at in range(0, len(ranges), 2)
        ]
        flat = array("q")
        for first, next_offset, due_ms in sorted(living):
            flat.extend((due_ms, first, next_offset))
        image.delayed = to_column(flat)

    def load(self, image: Image) -> None:
        """Restores from a snapshot; raises ValueError if it contradicts itself."""
        flat = from_column(image.delayed)
        end = 0
        for due_ms, first, next_offset in zip(flat[::3], flat[1::3], flat[2::3], strict=True):
            if not end <= first < next_offset:
                raise ValueError("delayed ranges that are not ascending")
            self.append(first, next_offset, due_ms)
            end = next_offset

    def _has_living(self, due_ms: int) -> bool:
        ranges = self._due_at[due_ms]
        while ranges:
            first, next_offset = ranges[-2:]
            living, _ = next(self._ranges.pieces(first), (next_offset, 0))
            if living < next_offset:
                return True
            self._stale -= next_offset - first
            del ranges[-2:]
        return False

    def _find_soonest(self) -> None:
        self.soonest_ms = self._times_ms[0] if self._times_ms else NEVER_MS

    def _note_stale(self, removed: int) -> None:
        self._stale += removed
        if self._stale > self._ranges.count + STALE_OFFSETS_MIN:
            self._sweep()

    def _sweep(self) -> None:
        living: dict[int, list[int]] = {}
        for due_ms, ranges in self._due_at.items():
            for at in range(0, len(ranges), 2):
                for first, next_offset in self._ranges.pieces(ranges[at]):
                    if first >= ranges[at + 1]:
                        break
                    piece = (first, min(next_offset, ranges[at + 1]))
                    living.setdefault(due_ms, []).extend(piece)
        self._due_at = living
        self._times_ms = list(living)
        heapify(self._times_ms)
        self._find_soonest()
        self._stale = 0
