"""Finds the bytes that answer a read, mostly without touching the disk.

A sequential reader is found by the end of its last read; a reader near the log's end by the active
segment's dense index; any other by the sparse index and one small read.
"""

from bisect import bisect_right
from operator import attrgetter
from typing import NamedTuple

from duolog.log.quarantine import DamagedRange
from duolog.log.segment import Segment
from duolog.model.errors import CorruptBatch
from duolog.ports.disk import File

CURSORS_MAX = 128
"""Limit of remembered positions of readers in one log; the oldest is forgotten first."""

SEALED_OPEN_MAX = 16
"""Limit of sealed segments of one log that keep their file and index open while idle."""

_base_offset = attrgetter("base_offset")


class LogSlice(NamedTuple):
    """Whole batches that lie next to each other in a file."""

    file: File
    position: int
    length: int
    next_offset: int
    """Offset at which to read on."""


class LogReader:
    __slots__ = ("_cursors", "_opened", "_segments")

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = segments
        """The log's own list: ascending, never empty, the last one active."""
        self._cursors: dict[int, tuple[Segment, int]] = {}
        self._opened: dict[Segment, None] = {}

    def read(self, offset: int, bytes_max: int, end_offset: int) -> LogSlice | None:
        """Batches from the one that holds `offset` on, all below `end_offset`.

        The offset is in the log and below the end offset, which is a batch boundary.
        """
        cursors = self._cursors
        cursor = cursors.get(offset)
        if cursor is None:
            segment, position = self._locate(offset)
        else:
            segment, position = cursor
        if segment.damage:
            _check_undamaged(segment.damage, offset)
        while position >= segment.size:
            following = self._following(segment)
            if following is None or following.base_offset >= end_offset:
                return None
            segment, position = following, 0
            if segment.damage:
                _check_undamaged(segment.damage, max(offset, segment.base_offset))
        if end_offset >= segment.end_offset:
            end, next_offset = segment.size, segment.end_offset
        else:
            end, next_offset = segment.find(end_offset), end_offset
        if segment.damage:
            for damage in segment.damage:
                if position <= damage.position <= end:
                    end, next_offset = damage.position, damage.first_offset
        if end - position > bytes_max:
            end, next_offset = segment.cut(position, bytes_max)
        elif end <= position:
            return None
        if next_offset not in cursors and len(cursors) >= CURSORS_MAX:
            del cursors[next(iter(cursors))]
        cursors[next_offset] = segment, end
        return LogSlice(segment.file, position, end - position, next_offset)

    def segment_at(self, offset: int) -> int:
        """Index of the segment that holds the offset, or of the first one."""
        return max(0, bisect_right(self._segments, offset, key=_base_offset) - 1)

    def forget(self) -> None:
        """Forgets all positions, because segments were truncated, replaced or removed."""
        self._cursors.clear()
        self._opened = {each: None for each in self._opened if not each.deleted}

    def release(self) -> None:
        """Closes the files and indexes of all sealed segments."""
        for segment in self._opened:
            segment.release()
        self._opened.clear()

    def _locate(self, offset: int) -> tuple[Segment, int]:
        segment = self._segments[self.segment_at(offset)]
        if segment.damage:
            _check_undamaged(segment.damage, offset)
        self.keep_open(segment)
        return segment, segment.find(offset)

    def keep_open(self, segment: Segment) -> None:
        """Keeps a sealed segment open, and closes the one that was opened longest ago instead."""
        if segment in self._opened or segment is self._segments[-1]:
            return
        if len(self._opened) >= SEALED_OPEN_MAX:
            oldest = next(iter(self._opened))
            del self._opened[oldest]
            if oldest is not self._segments[-1]:
                oldest.release()
        self._opened[segment] = None

    def _following(self, segment: Segment) -> Segment | None:
        after = bisect_right(self._segments, segment.base_offset, key=_base_offset)
        if after == len(self._segments):
            return None
        self.keep_open(self._segments[after])
        return self._segments[after]


def _check_undamaged(damage: tuple[DamagedRange, ...], offset: int) -> None:
    for found in damage:
        if found.first_offset <= offset < found.next_offset:
            raise CorruptBatch(
                f"offsets {found.first_offset} to {found.next_offset} are damaged and quarantined"
            )
