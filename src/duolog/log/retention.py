"""Decides which segments may go: by time, by size, and by the start offset."""

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
    """How many of the sealed segments, from the oldest on, may be removed."""
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
    """Whether all its records are past the retention. Records without a time do not age."""
    return segment.is_time_proved and seems_too_old(segment, config, now_ms)


def seems_too_old(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    """The same, as far as the segment's index can be believed."""
    if not config.cleanup_delete or config.retention_ms == NO_LIMIT:
        return False
    largest = segment.largest_timestamp
    return largest != NO_TIMESTAMP and now_ms - largest > config.retention_ms


def _is_too_much(segment: Segment, size_bytes: int, config: TopicConfig) -> bool:
    """Whether enough is left without it."""
    if not config.cleanup_delete or config.retention_bytes == NO_LIMIT:
        return False
    return size_bytes - segment.size >= config.retention_bytes
