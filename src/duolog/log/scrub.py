"""Finds damage in sealed segments, long before a client or a restart would meet it."""

from collections.abc import Iterable

from duolog.log.quarantine import DamagedRange
from duolog.log.scan import EpochOf, Scanner
from duolog.log.segment import Segment
from duolog.model.errors import CorruptBatch


def find_damage(segment: Segment, epoch_of: EpochOf) -> list[DamagedRange]:
    """Verifies every batch of a sealed segment; returns damage that is not known yet."""
    known = {(found.position, found.length) for found in segment.damage}
    return [
        found
        for found in _scanner(segment, epoch_of).scan(0, segment.base_offset)
        if isinstance(found, DamagedRange) and (found.position, found.length) not in known
    ]


def still_damaged(
    sealed: Iterable[Segment], ranges: Iterable[DamagedRange], epoch_of: EpochOf
) -> list[DamagedRange]:
    """The ranges that are damaged in the segments as they are now.

    A segment may have been compacted, or truncated and written again, since it was scanned; bytes
    at the same position then mean something else.
    """
    segments = {segment.base_offset: segment for segment in sealed}
    return [
        found
        for found in ranges
        if (segment := segments.get(found.segment_base)) is not None
        and _is_damaged(segment, found, epoch_of)
    ]


def _is_damaged(segment: Segment, found: DamagedRange, epoch_of: EpochOf) -> bool:
    if found.end_position > segment.size:
        return False
    boundary = segment.index.boundary_at_most(found.position)[1]
    try:
        for at, header in segment.walk_from(boundary):
            if at >= found.position:
                break
            boundary = at + header.size
    except CorruptBatch:
        # The damaged header itself, if the walk has come that far.
        pass
    if boundary != found.position:
        return False
    first = next(_scanner(segment, epoch_of).scan(found.position, found.first_offset), None)
    return isinstance(first, DamagedRange)


def _scanner(segment: Segment, epoch_of: EpochOf) -> Scanner:
    return Scanner(
        segment.file,
        segment.base_offset,
        end=segment.size,
        offset_limit=segment.end_offset,
        epoch_of=epoch_of,
    )
