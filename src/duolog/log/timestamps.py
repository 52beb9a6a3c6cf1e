"""Finds records by time, and opens only the batch that holds the answer."""

from collections.abc import Sequence

from duolog.log.segment import Segment
from duolog.model.errors import CorruptBatch
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.records.checksum import is_intact
from duolog.records.header import NO_TIMESTAMP, BatchHeader
from duolog.records.iterator import iter_records


def find_timestamp(
    segments: Sequence[Segment], timestamp: int, start_offset: int
) -> tuple[int, int] | None:
    """Offset and timestamp of the first record at or after the timestamp."""
    for segment in segments:
        if segment.end_offset <= start_offset or segment.largest_timestamp < timestamp:
            continue
        for position, header in segment.headers_from(segment.index.position_before_time(timestamp)):
            if header.max_timestamp < timestamp or header.next_offset <= start_offset:
                continue
            found = _find_in_batch(segment, position, header, timestamp, start_offset)
            if found is not None:
                return found
    return None


def find_max_timestamp(segments: Sequence[Segment], start_offset: int) -> tuple[int, int] | None:
    """Offset and timestamp of the latest record; the first of several."""
    largest = NO_TIMESTAMP
    for segment in segments:
        if segment.end_offset <= start_offset or segment.largest_timestamp <= largest:
            continue
        if segment.base_offset >= start_offset:
            largest = segment.largest_timestamp
            continue
        # The segment's maximum may belong to a record before the start offset.
        for position, header in segment.headers_from(segment.find(start_offset)):
            if header.max_timestamp > largest:
                if header.base_offset >= start_offset:
                    largest = header.max_timestamp
                else:
                    found = _find_latest(segment, position, header, start_offset)
                    largest = max(largest, found)
    return None if largest == NO_TIMESTAMP else find_timestamp(segments, largest, start_offset)


def _find_in_batch(
    segment: Segment, position: int, header: BatchHeader, timestamp: int, start_offset: int
) -> tuple[int, int] | None:
    if header.uses_log_append_time:
        return max(header.base_offset, start_offset), header.max_timestamp
    for offset, record_timestamp in _times_in_batch(segment, position, header):
        if record_timestamp >= timestamp and offset >= start_offset:
            return offset, record_timestamp
    return None


def _find_latest(segment: Segment, position: int, header: BatchHeader, start_offset: int) -> int:
    times = _times_in_batch(segment, position, header)
    return max((time for offset, time in times if offset >= start_offset), default=NO_TIMESTAMP)


def _times_in_batch(segment: Segment, position: int, header: BatchHeader) -> list[tuple[int, int]]:
    batch = segment.file.pread(header.size, position)
    if len(batch) < header.size or not is_intact(batch):
        raise CorruptBatch(f"the batch at offset {header.base_offset} is damaged")
    records = iter_records(batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX)
    return [(record.offset, record.timestamp) for record in records if record.offset is not None]
