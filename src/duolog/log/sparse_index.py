"""Sparse index of a segment: offsets, positions, and the latest timestamp before each.

An entry (offset, position, timestamp) means: position is a batch boundary, batches before it have
lower offsets, batches from it on have that offset or higher, and no record before it is later than
the timestamp. The entries of the offset index (`.index`) and of the time index (`.timeindex`) go in
step, so that each verifies the other. The files have Kafka's layout.

Both are derived: missing or implausible entries are rebuilt from the segment itself, so the files
need no sync.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from itertools import islice
from operator import le, lt
from struct import Struct

from duolog.records.header import NO_TIMESTAMP

_ENTRY_BYTES = 8
TIME_ENTRY = Struct(">qI")
RELATIVE_OFFSET_MAX = 0xFFFF_FFFF


class SparseIndex:
    """Entries whose offsets, relative to the segment's base, and positions strictly ascend."""

    __slots__ = ("offsets", "positions", "saved", "timestamps")

    def __init__(self) -> None:
        self.offsets = array("I")
        self.positions = array("I")
        self.timestamps = array("q")
        self.saved = 0
        """Number of entries that the files already hold."""

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, offset: int, position: int, timestamp: int) -> None:
        """Adds an entry at the end, unless it does not ascend or fit."""
        last_offset, last_position, _ = self.last
        if not (last_offset < offset <= RELATIVE_OFFSET_MAX and last_position < position):
            return
        self.offsets.append(offset)
        self.positions.append(position)
        self.timestamps.append(timestamp)

    @property
    def last(self) -> tuple[int, int, int]:
        """The last entry; the start of the segment if there is none."""
        if not self.offsets:
            return 0, 0, NO_TIMESTAMP
        return self.offsets[-1], self.positions[-1], self.timestamps[-1]

    def around(self, offset: int, size: int) -> tuple[int, int]:
        """Two boundaries between which the batch that holds the offset begins."""
        after = bisect_right(self.offsets, offset)
        start = self.positions[after - 1] if after else 0
        end = self.positions[after] if after < len(self.positions) else size
        return start, end

    def boundary_at_most(self, position: int) -> tuple[int, int]:
        """The last boundary up to the position: relative offset, position."""
        after = bisect_right(self.positions, position)
        return (self.offsets[after - 1], self.positions[after - 1]) if after else (0, 0)

    def position_before_time(self, timestamp: int) -> int:
        """A boundary before which every record is earlier than the timestamp."""
        after = bisect_left(self.timestamps, timestamp)
        return self.positions[after - 1] if after else 0

    def truncate(self, *, offset: int, position: int) -> None:
        """Keeps the entries up to the relative offset and the position."""
        kept = min(bisect_right(self.offsets, offset), bisect_right(self.positions, position))
        self._keep(kept)

    def _keep(self, count: int) -> None:
        del self.offsets[count:], self.positions[count:], self.timestamps[count:]
        self.saved = min(self.saved, count)

    def encode_unsaved(self) -> tuple[int, bytes, int, bytes]:
        """Position and content of the unsaved part, for each of the two files."""
        pairs = array("I", bytes(_ENTRY_BYTES * (len(self) - self.saved)))
        pairs[0::2] = self.offsets[self.saved :]
        pairs[1::2] = self.positions[self.saved :]
        if sys.byteorder == "little":
            pairs.byteswap()
        times = b"".join(
            map(TIME_ENTRY.pack, self.timestamps[self.saved :], self.offsets[self.saved :])
        )
        return self.saved * _ENTRY_BYTES, pairs.tobytes(), self.saved * TIME_ENTRY.size, times

    def covers(self, entries: bytes, times: bytes) -> bool:
        """True if files with this content hold the saved entries and nothing else."""
        return (
            len(entries) == self.saved * _ENTRY_BYTES and len(times) == self.saved * TIME_ENTRY.size
        )

    @classmethod
    def decode(cls, entries: bytes, times: bytes, size: int) -> "SparseIndex":
        """Decodes as many entries, from the first on, as are plausible in a segment of that
        size."""
        index = cls()
        count = min(len(entries) // _ENTRY_BYTES, len(times) // TIME_ENTRY.size)
        pairs = array("I", entries[: count * _ENTRY_BYTES])
        if sys.byteorder == "little":
            pairs.byteswap()
        index.offsets, index.positions = pairs[0::2], pairs[1::2]
        unpacked = list(TIME_ENTRY.iter_unpack(times[: count * TIME_ENTRY.size]))
        index.timestamps = array("q", [timestamp for timestamp, _ in unpacked])
        index.saved = count
        if (
            [offset for _, offset in unpacked] != index.offsets.tolist()
            or not _ascends(index.offsets)
            or not _ascends(index.positions)
            or not all(map(le, index.timestamps, islice(index.timestamps, 1, None)))
        ):
            index._keep(index._plausible_count(unpacked))
        index._keep(bisect_right(index.positions, size))
        return index

    def _plausible_count(self, times: list[tuple[int, int]]) -> int:
        previous_offset = previous_position = 0
        previous_timestamp = NO_TIMESTAMP
        rows = zip(self.offsets, self.positions, times, strict=True)
        for count, (offset, position, (timestamp, time_offset)) in enumerate(rows):
            if (
                offset != time_offset
                or offset <= previous_offset
                or position <= previous_position
                or timestamp < previous_timestamp
            ):
                return count
            previous_offset, previous_position = offset, position
            previous_timestamp = timestamp
        return len(self)


def _ascends(values: "array[int]") -> bool:
    return (not values or values[0] > 0) and all(map(lt, values, islice(values, 1, None)))
