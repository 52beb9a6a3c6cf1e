"""Reads batches from disk and verifies each before it is handed on."""

from collections.abc import Iterator

from duolog.log.segment import Segment
from duolog.model.errors import CorruptBatch
from duolog.records.checksum import is_intact
from duolog.records.header import BatchHeader
from duolog.records.iterator import iter_batches

READ_BYTES = 128 * 1024
"""Bytes of one read; a larger batch is read whole. Whole segments are read on another thread, and
the event loop gets its turn with each read."""


def checked_batches(data: memoryview, end_offset: int) -> Iterator[memoryview]:
    """The batches in `data`: length, checksum, ascending offsets, none past the end offset."""
    for _, batch in _checked(data, end_offset):
        yield batch


def _checked(data: memoryview, end_offset: int) -> Iterator[tuple[BatchHeader, memoryview]]:
    offset = 0
    for header, batch in iter_batches(data):
        if header.base_offset < offset or header.next_offset > end_offset:
            raise CorruptBatch(f"a batch at offset {header.base_offset} is out of its place")
        if not is_intact(batch):
            raise CorruptBatch(f"the checksum of the batch at {header.base_offset} is wrong")
        yield header, batch
        offset = header.next_offset


def read_checked_batches(segment: Segment) -> Iterator[tuple[BatchHeader, memoryview]]:
    """All batches of a sealed segment that has no known damage."""
    position = 0
    while position < segment.size:
        end = position
        for at, header in segment.walk_from(position):
            if at + header.size - position > READ_BYTES and at > position:
                break
            end = at + header.size
            if end - position >= READ_BYTES:
                break
        data = segment.file.pread(end - position, position)
        yield from _checked(memoryview(data), segment.end_offset)
        position = end
