"""Set of offsets as ascending half-open ranges: a million in a row cost as much as one.

The ranges lie in chunks of machine integers: even a set full of holes takes sixteen bytes a range,
and every operation moves at most one chunk whatever the size of the set.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from duolog.records.delivery_image import is_ascending

CHUNK_RANGES_MAX = 512


def as_run(offsets: Sequence[int]) -> range | None:
    """The range, if the offsets are consecutive; None if they are not, or there are none."""
    if not offsets:
        return None
    run = range(offsets[0], offsets[0] + len(offsets))
    return run if offsets == run or list(offsets) == list(run) else None


class OffsetRanges:
    __slots__ = ("_firsts", "_lows", "_nexts", "count")

    def __init__(self) -> None:
        self.count = 0
        """Number of offsets in the set."""
        self._firsts: list[array[int]] = []
        """First offsets of the ranges, chunk by chunk. No chunk is empty."""
        self._nexts: list[array[int]] = []
        """Offset past the last one of each range, at the same place as in _firsts."""
        self._lows: list[int] = []
        """Lower bound of each chunk, above all offsets of the chunk before. It may lag behind when
        a chunk's front is removed; it still separates the chunks."""

    def __contains__(self, offset: int) -> bool:
        chunk = bisect_right(self._lows, offset) - 1
        if chunk < 0:
            return False
        at = bisect_right(self._firsts[chunk], offset) - 1
        return at >= 0 and self._nexts[chunk][at] > offset

    @property
    def first(self) -> int | None:
        return self._firsts[0][0] if self._firsts else None

    def peek(self, count: int) -> Sequence[int]:
        """The lowest offsets: a range if they are consecutive."""
        if not self._firsts:
            return ()
        first, next_offset = self._firsts[0][0], self._nexts[0][0]
        if next_offset - first >= count:
            return range(first, first + count)
        lowest: list[int] = []
        for first, next_offset in self.pieces():
            lowest += range(first, min(next_offset, first + count - len(lowest)))
            if len(lowest) == count:
                break
        return lowest

    def pieces(self, from_offset: int = 0) -> Iterator[tuple[int, int]]:
        """The ranges at or above an offset. The set must not change meanwhile."""
        start = max(bisect_right(self._lows, from_offset) - 1, 0)
        for firsts, nexts in zip(self._firsts[start:], self._nexts[start:], strict=True):
            skipped = bisect_right(nexts, from_offset)
            for first, next_offset in zip(firsts[skipped:], nexts[skipped:], strict=True):
                yield max(first, from_offset), next_offset

    def append(self, first: int, next_offset: int) -> None:
        """Adds a range that lies past all others."""
        self.count += next_offset - first
        if self._nexts:
            nexts = self._nexts[-1]
            if nexts[-1] == first:
                nexts[-1] = next_offset
                return
            if len(nexts) < CHUNK_RANGES_MAX:
                self._firsts[-1].append(first)
                nexts.append(next_offset)
                return
        self._lows.append(first)
        self._firsts.append(array("q", (first,)))
        self._nexts.append(array("q", (next_offset,)))

    def add(self, first: int, next_offset: int) -> None:
        """Adds a range of which nothing is in the set yet."""
        if not self._nexts or self._nexts[-1][-1] <= first:
            self.append(first, next_offset)
            return
        self.count += next_offset - first
        chunk = max(bisect_right(self._lows, first) - 1, 0)
        firsts, nexts = self._firsts[chunk], self._nexts[chunk]
        at = bisect_right(firsts, first)
        follows = at > 0 and nexts[at - 1] == first
        precedes = at < len(firsts) and firsts[at] == next_offset
        if follows and precedes:
            nexts[at - 1] = nexts[at]
            del firsts[at], nexts[at]
        elif follows:
            nexts[at - 1] = next_offset
        elif precedes:
            firsts[at] = first
        else:
            firsts.insert(at, first)
            nexts.insert(at, next_offset)
            self._split_if_full(chunk)
        if first < self._lows[chunk]:
            self._lows[chunk] = first

    def discard(self, offset: int) -> bool:
        """Removes one offset; False if it is not in the set."""
        if not self._firsts:
            return False
        # Nearly always it is the lowest: messages are delivered in order.
        front = self._firsts[0]
        if front[0] == offset:
            if self._nexts[0][0] > offset + 1:
                front[0] = offset + 1
                self.count -= 1
            else:
                self._cut(0, 0, offset, offset + 1)
            return True
        chunk = bisect_right(self._lows, offset) - 1
        if chunk < 0:
            return False
        at = bisect_right(self._firsts[chunk], offset) - 1
        if at < 0 or self._nexts[chunk][at] <= offset:
            return False
        self._cut(chunk, at, offset, offset + 1)
        return True

    def take_first(self, first: int, next_offset: int) -> bool:
        """Removes a range that is the beginning of the lowest one; False if it is not."""
        if not self._firsts or self._firsts[0][0] != first or self._nexts[0][0] < next_offset:
            return False
        self._cut(0, 0, first, next_offset)
        return True

    def remove(self, first: int, next_offset: int) -> list[tuple[int, int]]:
        """Removes a range; returns the parts of it that were in the set."""
        removed = []
        for piece_first, piece_next in self.pieces(first):
            if piece_first >= next_offset:
                break
            removed.append((piece_first, min(piece_next, next_offset)))
        for piece_first, piece_next in removed:
            chunk = bisect_right(self._lows, piece_first) - 1
            at = bisect_right(self._firsts[chunk], piece_first) - 1
            self._cut(chunk, at, piece_first, piece_next)
        return removed

    def remove_below(self, before_offset: int) -> int:
        """Removes all offsets below; returns how many there were."""
        gone = 0
        while gone < len(self._nexts) and self._nexts[gone][-1] <= before_offset:
            gone += 1
        removed = self._drop_chunks(0, gone)
        if self._firsts:
            firsts, nexts = self._firsts[0], self._nexts[0]
            ended = bisect_right(nexts, before_offset)
            removed += sum(nexts[:ended]) - sum(firsts[:ended])
            del firsts[:ended], nexts[:ended]
            if firsts[0] < before_offset:
                removed += before_offset - firsts[0]
                firsts[0] = before_offset
        self.count -= removed
        return removed

    def remove_from(self, end_offset: int) -> int:
        """Removes all offsets at or above; returns how many there were."""
        kept = len(self._firsts)
        while kept > 0 and self._firsts[kept - 1][0] >= end_offset:
            kept -= 1
        removed = self._drop_chunks(kept, len(self._firsts))
        if self._firsts:
            firsts, nexts = self._firsts[-1], self._nexts[-1]
            started = bisect_left(firsts, end_offset)
            removed += sum(nexts[started:]) - sum(firsts[started:])
            del firsts[started:], nexts[started:]
            if nexts[-1] > end_offset:
                removed += nexts[-1] - end_offset
                nexts[-1] = end_offset
        self.count -= removed
        return removed

    def to_array(self) -> "array[int]":
        """First and next offset of each range in turn; equal sets give equal arrays."""
        flat = array("q")
        for first, next_offset in self.pieces():
            if flat and flat[-1] == first:
                flat[-1] = next_offset
            else:
                flat.extend((first, next_offset))
        return flat

    @classmethod
    def from_array(cls, flat: "array[int]") -> "OffsetRanges":
        """Restores a set; raises ValueError if the ranges are not ascending."""
        ranges = cls()
        if len(flat) % 2 or not is_ascending(flat):
            raise ValueError("ranges that are not ascending")
        for at in range(0, len(flat), 2):
            ranges.append(flat[at], flat[at + 1])
        return ranges

    def _cut(self, chunk: int, at: int, first: int, next_offset: int) -> None:
        """Removes a part of one range, or all of it."""
        firsts, nexts = self._firsts[chunk], self._nexts[chunk]
        self.count -= next_offset - first
        if firsts[at] < first:
            if nexts[at] > next_offset:
                firsts.insert(at + 1, next_offset)
                nexts.insert(at, first)
                self._split_if_full(chunk)
            else:
                nexts[at] = first
        elif nexts[at] > next_offset:
            firsts[at] = next_offset
        elif len(firsts) > 1:
            del firsts[at], nexts[at]
        else:
            del self._firsts[chunk], self._nexts[chunk], self._lows[chunk]

    def _split_if_full(self, chunk: int) -> None:
        firsts, nexts = self._firsts[chunk], self._nexts[chunk]
        if len(firsts) <= CHUNK_RANGES_MAX:
            return
        half = len(firsts) // 2
        self._firsts.insert(chunk + 1, firsts[half:])
        self._nexts.insert(chunk + 1, nexts[half:])
        self._lows.insert(chunk + 1, firsts[half])
        del firsts[half:], nexts[half:]

    def _drop_chunks(self, start: int, stop: int) -> int:
        dropped = sum(map(sum, self._nexts[start:stop])) - sum(map(sum, self._firsts[start:stop]))
        del self._firsts[start:stop], self._nexts[start:stop], self._lows[start:stop]
        return dropped
