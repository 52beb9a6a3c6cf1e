"""Decides which records of a batch thinning keeps: those at offsets that are still wanted."""

from array import array
from bisect import bisect_right

from duolog.model.errors import Refusal
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.records.builder import rebuild_batch
from duolog.records.header import BatchHeader
from duolog.records.iterator import iter_keys


class KeptOffsets:
    """Ascending half-open ranges of offsets, of which no two touch."""

    __slots__ = ("_firsts", "_nexts", "count")

    def __init__(self) -> None:
        self._firsts = array("q")
        self._nexts = array("q")
        self.count = 0
        """Number of offsets, not of ranges."""

    def __len__(self) -> int:
        return len(self._firsts)

    def append(self, first: int, next_offset: int) -> None:
        """Adds a range that is not empty and lies past all others."""
        self.count += next_offset - first
        if self._nexts and self._nexts[-1] == first:
            self._nexts[-1] = next_offset
            return
        assert not self._nexts or self._nexts[-1] < first, "ranges are given in ascending order"
        self._firsts.append(first)
        self._nexts.append(next_offset)

    def extend(self, others: "KeptOffsets") -> None:
        for first, next_offset in zip(others._firsts, others._nexts, strict=True):
            self.append(first, next_offset)

    def covers(self, first: int, next_offset: int) -> bool:
        """True if every offset of the range is kept."""
        at = bisect_right(self._nexts, first)
        return at < len(self) and self._firsts[at] <= first and next_offset <= self._nexts[at]

    def meets(self, first: int, next_offset: int) -> bool:
        """True if any offset of the range is kept."""
        at = bisect_right(self._nexts, first)
        return at < len(self) and self._firsts[at] < next_offset


class OffsetFilter:
    def __init__(self, kept: KeptOffsets) -> None:
        self._kept = kept

    def retain(
        self, header: BatchHeader, batch: memoryview, *, must_stay: bool
    ) -> memoryview | bytearray | None:
        first, next_offset = header.base_offset, header.next_offset
        if header.is_control or self._kept.covers(first, next_offset):
            return batch
        if header.record_count == 0:
            return batch if must_stay else None
        if not self._kept.meets(first, next_offset):
            return rebuild_batch(header, []) if must_stay else None
        try:
            records = list(iter_keys(batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX))
        except Refusal:
            # Something in it is wanted, and nobody can take it out.
            return batch
        kept = [
            encoded for offset, _, _, encoded in records if self._kept.covers(offset, offset + 1)
        ]
        if len(kept) == len(records):
            return batch
        return rebuild_batch(header, kept) if kept or must_stay else None
