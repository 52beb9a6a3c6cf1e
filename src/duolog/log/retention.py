"""Decides which segments may be removed: by time, by size, and by the start offset."""

from collections.abc import Sequence

from duolog.config.topic import TopicConfig
from duolog.log.segment import Segment
from duolog.records.header import NO_TIMESTAMP

NO_LIMIT = -1


def count_expired(
    sealed: Sequence[Segment],
    size_bytes: int,
    config: TopicConfig,
    *,
    start_offset: int,
    up_to_offset: int,
    now_ms: int,
) -> int:
    """Number of sealed segments, from the oldest on, that may be removed."""
    count = 0
    for segment in sealed:
        if segment.end_offset > up_to_offset:
            break
        if not (
            segment.end_offset <= start_offset
            or is_too_old(segment, config, now_ms)
            or _is_too_much(segment, size_bytes, config)
        ):
            break
        size_bytes -= segment.size
        count += 1
    return count


def is_too_old(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    """True if all records are provably past retention. Records without a timestamp do not age."""
    return segment.is_time_proved and seems_too_old(segment, config, now_ms)


def seems_too_old(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    """True if all records are past retention according to the segment's index, proved or not."""
    if not config.cleanup_delete or config.retention_ms == NO_LIMIT:
        return False
    largest = segment.largest_timestamp
    return largest != NO_TIMESTAMP and now_ms - largest > config.retention_ms


def _is_too_much(segment: Segment, size_bytes: int, config: TopicConfig) -> bool:
    """True if the log stays at or above its size limit without the segment."""
    if not config.cleanup_delete or config.retention_bytes == NO_LIMIT:
        return False
    return size_bytes - segment.size >= config.retention_bytes
