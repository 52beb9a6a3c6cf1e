"""Segment of a log: one file with its indexes.

The active segment grows at its end; a sealed one never changes. A sealed segment opens its file and
reads its index on first use, so that opening a log of many segments costs little.
"""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from duolog.log.index_files import (
    cut_index,
    load_index,
    read_last_time,
    remove_index,
    save_index,
)
from duolog.log.quarantine import DamagedRange
from duolog.log.segment_batches import SegmentBatches
from duolog.log.sparse_index import SparseIndex
from duolog.log.walk import WINDOW_BYTES, find_batch
from duolog.model.errors import CorruptBatch
from duolog.ports.disk import Disk
from duolog.records.header import (
    LENGTH_PREFIX_BYTES,
    NO_TIMESTAMP,
    BatchHeader,
)

TAIL_BATCHES_MAX = 4096
"""Limit of batches at the end of the active segment whose positions are held one by one."""

_TAIL_BATCHES_KEPT = TAIL_BATCHES_MAX // 2


class Segment(SegmentBatches):
    __slots__ = (
        "_index",
        "_index_at",
        "_largest_timestamp",
        "_tail_offsets",
        "_tail_positions",
        "end_offset",
        "first_append_ms",
        "index_interval_bytes",
        "is_time_proved",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        *,
        end_offset: int,
        size: int,
        index_interval_bytes: int,
    ) -> None:
        super().__init__(disk, directory, base_offset, size)
        self.end_offset = end_offset
        """Next offset to write; in a sealed segment, the base offset of the next one."""
        self.first_append_ms: int | None = None
        """Time of the active segment's first batch, from which its age counts."""
        self._index: SparseIndex | None = None
        self._largest_timestamp: int | None = None
        self.is_time_proved = False
        """True if the largest timestamp was read from the batches. One from an index, which a crash
        may have damaged, is enough to look records up, not to delete them."""
        self.index_interval_bytes = index_interval_bytes
        self._index_at = 0
        """Position from which on the next batch gets an entry in the sparse index."""
        # Filled by appends only, which leave no gap between offsets: a lookup need not check that
        # the batch it finds reaches as far as the offset.
        self._tail_offsets = array("q")
        self._tail_positions = array("q")

    @classmethod
    def create(
        cls, disk: Disk, directory: str, base_offset: int, index_interval_bytes: int
    ) -> "Segment":
        """Creates an empty segment, to be the active one."""
        segment = cls(
            disk,
            directory,
            base_offset,
            end_offset=base_offset,
            size=0,
            index_interval_bytes=index_interval_bytes,
        )
        segment._file = disk.open(segment.path, create=True)
        try:
            # Leftovers of the same name, and their index entries, would be taken for records once
            # this segment grows past their end.
            segment._file.truncate(0)
            remove_index(disk, segment.stem)
        except OSError:
            # An empty segment that nobody knows of would seem to end the one before it.
            disk.remove(segment.path)
            raise
        segment.activate(SparseIndex(), NO_TIMESTAMP)
        segment.is_time_proved = True
        return segment

    @property
    def index(self) -> SparseIndex:
        index = self._index
        if index is None:
            index = self._index = self._load_index()
        return index

    @property
    def largest_timestamp(self) -> int:
        """Largest timestamp of all records in the segment; NO_TIMESTAMP if none has one."""
        largest = self._largest_timestamp
        if largest is None:
            if self._index is None:
                largest = read_last_time(self.disk, self.stem, self.end_offset - self.base_offset)
            if largest is None:
                largest = self.index.last[2]
            self._largest_timestamp = largest
        return largest

    def time_proof(self) -> Callable[[], int | None]:
        """Returns a read of all batches for the largest timestamp, which may be offloaded.

        It returns None if damage that is not known yet prevents it.
        """
        return partial(_largest_of, self.walk_from(0))

    def prove_time(self, largest: int) -> None:
        """Adopts the largest timestamp found by `time_proof`; the segment has not changed
        meanwhile."""
        self._largest_timestamp = largest
        self.is_time_proved = True

    def activate(self, index: SparseIndex, largest_timestamp: int) -> None:
        """Makes it the segment that grows, from its present end on."""
        self._index = index
        self._largest_timestamp = largest_timestamp
        self._index_at = index.last[1] + self.index_interval_bytes
        self.forget_tail()

    def note_appended(self, headers: Sequence[BatchHeader], offset: int) -> int:
        """Notes batches that were written at the end; returns the new end offset.

        Their base offsets are consecutive from `offset` on, whatever the headers say.
        """
        position = self.size
        largest = self._largest_timestamp
        assert largest is not None
        tail_offsets = self._tail_offsets
        tail_positions = self._tail_positions
        for header in headers:
            tail_offsets.append(offset)
            tail_positions.append(position)
            if position >= self._index_at:
                self._add_entry(offset, position, largest)
            timestamp = header[8]
            if timestamp > largest:
                largest = timestamp
            position += header[1] + LENGTH_PREFIX_BYTES
            offset += header[6] + 1
        self.size = position
        self.end_offset = offset
        self._largest_timestamp = largest
        if len(tail_offsets) > TAIL_BATCHES_MAX:
            self._cut_tail()
        return offset

    def note_one(self, size: int, end_offset: int, timestamp: int) -> None:
        """Notes one batch, as `note_appended` does for many."""
        position = self.size
        tail_offsets = self._tail_offsets
        tail_offsets.append(self.end_offset)
        self._tail_positions.append(position)
        largest = self._largest_timestamp
        assert largest is not None
        if position >= self._index_at:
            self._add_entry(self.end_offset, position, largest)
        if timestamp > largest:
            self._largest_timestamp = timestamp
        self.size = position + size
        self.end_offset = end_offset
        if len(tail_offsets) > TAIL_BATCHES_MAX:
            self._cut_tail()

    def _cut_tail(self) -> None:
        del self._tail_offsets[:-_TAIL_BATCHES_KEPT]
        del self._tail_positions[:-_TAIL_BATCHES_KEPT]

    def _add_entry(self, offset: int, position: int, largest: int) -> None:
        self.index.add(offset - self.base_offset, position, largest)
        self._index_at = position + self.index_interval_bytes

    def seal(self) -> None:
        """Ends the segment. The entry at the very end proves later that no batch is missing."""
        self.add_end_entry()
        self.save_index()
        self.forget_tail()

    def add_end_entry(self) -> None:
        relative = self.end_offset - self.base_offset
        self.index.add(relative, self.size, self.largest_timestamp)

    def save_index(self) -> None:
        if self._index is not None:
            save_index(self.disk, self.stem, self._index)

    def forget_tail(self) -> None:
        del self._tail_offsets[:], self._tail_positions[:]

    def find(self, offset: int) -> int:
        """Position of the batch that holds the offset, or else of the next one.

        The segment's size if there is none.
        """
        tail = self._tail_offsets
        if tail and offset >= tail[0]:
            if offset >= self.end_offset:
                return self.size
            return self._tail_positions[bisect_right(tail, offset) - 1]
        position, end = self.index.around(offset - self.base_offset, self.size)
        return find_batch(
            self.file,
            self.past_damage(position),
            self.size,
            offset,
            damaged=self.damaged,
            window_bytes=min(end - position, WINDOW_BYTES),
        )

    def cut(self, position: int, bytes_max: int) -> tuple[int, int]:
        """Position and next offset at which a read of at most `bytes_max` from `position` ends.

        The batch at `position` is always taken whole. More bytes than that are there.
        """
        target = position + bytes_max
        tail = self._tail_positions
        if tail and position >= tail[0]:
            last = bisect_right(tail, target) - 1
            if tail[last] <= position:
                last += 1
            if last == len(tail):
                return self.size, self.end_offset
            return tail[last], self._tail_offsets[last]
        relative, boundary = self.index.boundary_at_most(target)
        if boundary > position:
            return boundary, self.base_offset + relative
        end, next_offset = position, self.base_offset
        for at, header in self.walk_from(position, min(bytes_max, WINDOW_BYTES)):
            if at + header.size > target and at > position:
                break
            end, next_offset = at + header.size, header.next_offset
            if end >= target:
                break
        return end, next_offset

    def headers_at(self, offset: int) -> Iterator[BatchHeader]:
        """Headers from the batch that holds the offset on, with damage skipped."""
        try:
            position = self.find(offset) if offset > self.base_offset else 0
        except CorruptBatch:
            position = 0
        for _, header in self.headers_from(position):
            if header.next_offset > offset:
                yield header

    def release(self) -> None:
        """Closes the file and drops the index of a sealed segment; both are reloaded on demand."""
        self._file = None
        self._index = None

    def cut_point(self, offset: int) -> tuple[int, int]:
        """Position at which to truncate so that the offset goes, and the end offset of the rest.

        The batch that holds the offset goes as a whole, and so does a damaged range.
        """
        position = self.find(offset)
        end_offset = self.base_offset
        for found in self.damage:
            if found.next_offset <= offset:
                end_offset = found.next_offset
            else:
                position = min(position, found.position)
        before = self.index.boundary_at_most(position - 1)[1]
        for at, header in self.walk_from(before):
            if at >= position:
                break
            end_offset = max(end_offset, header.next_offset)
        return position, end_offset

    def truncate(self, position: int, end_offset: int) -> None:
        """Truncates the segment at a cut point, durably, and makes it the active one."""
        index = self.index
        self.set_damage([found for found in self.damage if found.next_offset <= end_offset])
        self.file.truncate(position)
        self.file.sync()
        self.size, self.end_offset = position, end_offset
        index.truncate(offset=end_offset - self.base_offset, position=position)
        largest = index.last[2]
        for _, header in self.walk_from(index.last[1]):
            largest = max(largest, header.max_timestamp)
        # Index entries of truncated batches must not come back after a crash: they would look
        # plausible among those of the batches written there next.
        for file in cut_index(self.disk, self.stem, index):
            file.sync()
        self.activate(index, largest)

    def _load_index(self) -> SparseIndex:
        """Loads a sealed segment's index; entries that the files lack are rebuilt from the
        segment."""
        if self.deleted:
            # Files of these names are, if any, those of the segment that replaced this one.
            index = SparseIndex()
            self.extend_index(index, self.headers_from(0))
            return index
        index, _ = load_index(self.disk, self.stem, self.size)
        relative_end = self.end_offset - self.base_offset
        if self.size and index.last[:2] != (relative_end, self.size):
            index.truncate(offset=relative_end - 1, position=self.size - 1)
            try:
                self.extend_index(index, self.walk_from(index.last[1]))
            except CorruptBatch:
                # Either the index is wrong, or there is damage that is not known yet. Intact
                # batches must stay readable in both cases.
                index = SparseIndex()
                self.extend_index(index, self.intact_from(0, self.base_offset))
            save_index(self.disk, self.stem, index, cut=True)
        return index

    def extend_index(self, index: SparseIndex, batches: Iterable[tuple[int, BatchHeader]]) -> None:
        """Adds entries for batches that follow the last one, and one for the segment's end."""
        _, position, largest = index.last
        index_at = position + self.index_interval_bytes
        for at, header in batches:
            # No checksum covers the base offset: one that is out of bounds is left out.
            if at >= index_at and header.base_offset < self.end_offset:
                index.add(header.base_offset - self.base_offset, at, largest)
                index_at = at + self.index_interval_bytes
            largest = max(largest, header.max_timestamp)
        index.add(self.end_offset - self.base_offset, self.size, largest)


def spread_damage(segments: Iterable[Segment], ranges: Iterable[DamagedRange]) -> None:
    """Gives each segment its own part of all known damage."""
    by_base: dict[int, list[DamagedRange]] = {}
    for found in ranges:
        by_base.setdefault(found.segment_base, []).append(found)
    for segment in segments:
        segment.set_damage(by_base.get(segment.base_offset, []))


def _largest_of(batches: Iterator[tuple[int, BatchHeader]]) -> int | None:
    try:
        return max((header.max_timestamp for _, header in batches), default=NO_TIMESTAMP)
    except CorruptBatch:
        return None
