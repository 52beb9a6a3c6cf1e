"""Rewrites segments without some of their records, beside the originals.

Compaction and thinning differ in what they keep (see key_filter.py and offset_filter.py). Offsets,
timestamps and producer sequences of kept records do not change. `Log.swap` puts the new segments in
place.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from errno import ENOSPC
from typing import Protocol

from duolog.config.topic import TopicConfig
from duolog.log.checked_batches import read_checked_batches
from duolog.log.cleaned_segment import CleanedSegment, CleanedWriter
from duolog.log.segment import Segment
from duolog.log.swap import discard_cleaned
from duolog.log.walk import SEGMENT_OFFSETS_MAX
from duolog.model.errors import CorruptBatch
from duolog.ports.disk import Disk
from duolog.records.header import NO_PRODUCER_ID, BatchHeader

Neighbours = tuple[Segment, ...]
"""Consecutive segments without a gap between them, to become one."""


class BatchFilter(Protocol):
    def retain(
        self, header: BatchHeader, batch: memoryview, *, must_stay: bool
    ) -> memoryview | bytearray | None:
        """The batch itself, what is left of it, or None.

        A batch that loses all its records stays as a bare header if it must.
        """
        ...


@dataclass(frozen=True, slots=True)
class Rewritten:
    groups: tuple[tuple[Neighbours, CleanedSegment], ...]
    """Replaced segments, and the new segment for each group of them."""
    cuts: int
    cleaned_offset: int = 0
    """Offset below which compaction by key has seen everything, now or earlier."""
    kept_counts: Mapping[tuple[int, int], int] = field(default_factory=dict)
    """Number of offsets that thinning found wanted, by the bounds of the segment that now holds
    them."""

    @property
    def bytes_before(self) -> int:
        return sum(segment.size for group, _ in self.groups for segment in group)

    @property
    def bytes_after(self) -> int:
        return sum(cleaned.size for _, cleaned in self.groups)


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Rewriter of one log's segments.

    Reads immutable files and writes new ones, so that it may be offloaded.
    """

    disk: Disk
    directory: str
    config: TopicConfig
    cuts: int
    """Number of truncations at the time of the plan; after another one the result is void."""
    may_write: Callable[[], bool]
    """False once the disk is full: a rewrite under way ends, and leaves nothing."""

    def rewrite(
        self, groups: Sequence[Neighbours], batch_filter: BatchFilter
    ) -> tuple[tuple[Neighbours, CleanedSegment], ...]:
        """Writes the new segments, durably; groups that would not change, or are damaged, are left
        out."""
        last_of_producer = _last_of_producers(segment for group in groups for segment in group)
        found: list[tuple[Neighbours, CleanedSegment]] = []
        try:
            for group in groups:
                cleaned = self._rewrite(group, batch_filter, last_of_producer)
                if cleaned is not None:
                    found.append((group, cleaned))
        except OSError:
            # A full disk needs their room.
            for _, cleaned in found:
                discard_cleaned(self.disk, self.directory, cleaned.base_offset, cleaned.end_offset)
            raise
        return tuple(found)

    def neighbours(self, segments: Iterable[Segment]) -> Iterator[Neighbours]:
        """Groups of segments that can be merged without exceeding the largest segment size."""
        group: list[Segment] = []
        size = 0
        for segment in segments:
            if group and (
                segment.base_offset != group[-1].end_offset
                or size + segment.size > self.config.segment_bytes
                or segment.end_offset - group[0].base_offset > SEGMENT_OFFSETS_MAX
            ):
                yield tuple(group)
                group, size = [], 0
            group.append(segment)
            size += segment.size
        if group:
            yield tuple(group)

    def _rewrite(
        self, group: Neighbours, batch_filter: BatchFilter, last_of_producer: frozenset[int]
    ) -> CleanedSegment | None:
        base, end = group[0].base_offset, group[-1].end_offset
        interval = self.config.index_interval_bytes
        writer = CleanedWriter(self.disk, self.directory, base, end, interval)
        changed = len(group) > 1
        try:
            for segment in group:
                for header, batch in read_checked_batches(segment):
                    if not self.may_write():
                        raise OSError(ENOSPC, "the disk has no room to rewrite segments")
                    # The last batch marks the segment's end: without it, recovery would take the
                    # offsets up to the next segment for lost.
                    must_stay = header.next_offset == end or header.base_offset in last_of_producer
                    kept = batch_filter.retain(header, batch, must_stay=must_stay)
                    changed = changed or kept is not batch
                    if kept is not None:
                        writer.append(kept)
        except CorruptBatch:
            changed = False
        except OSError:
            writer.discard()
            raise
        if not changed:
            writer.discard()
            return None
        return writer.finish()


def _last_of_producers(segments: Iterable[Segment]) -> frozenset[int]:
    """Base offsets of each producer's last batch, whose sequence a restart must find."""
    last: dict[int, int] = {}
    for segment in segments:
        for _, header in segment.headers_from(0):
            if header.producer_id != NO_PRODUCER_ID:
                last[header.producer_id] = header.base_offset
    return frozenset(last.values())
