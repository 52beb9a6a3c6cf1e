"""Reads the records of a batch, strictly, since the bytes are a client's.

Every number, length and count is checked before it is used; any violation raises CorruptBatch, and
nothing else.
"""

from collections.abc import Iterator

from duolog.model.errors import CorruptBatch
from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.records.compression import decompress
from duolog.records.header import HEADER_BYTES, BatchHeader
from duolog.records.varint import read_varint, wrapped

_INT64_MAX = (1 << 63) - 1


def open_body(header: BatchHeader, batch: memoryview, *, decompressed_bytes_max: int) -> bytes:
    """The encoded records, decompressed. `batch` is as long as its header says."""
    if header.record_count < 0 or header.last_offset_delta < 0:
        raise CorruptBatch("a negative count of records or offsets")
    if header.last_offset > _INT64_MAX:
        raise CorruptBatch("the offsets of the batch do not fit 64 bits")
    if header.record_count == 0 and len(batch) == HEADER_BYTES:
        # Compaction removed every record; no codec decodes zero bytes.
        return b""
    return decompress(header.compression, batch[HEADER_BYTES:], bytes_max=decompressed_bytes_max)


def walk(
    header: BatchHeader, body: bytes
) -> Iterator[tuple[int, int, bytes | None, int, int, int, int]]:
    """Yields per record: offset, timestamp, key, start (-1 if absent) and end of the value, start
    and end of the record. Leaves only the headers unread."""
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    last_offset_delta = header.last_offset_delta
    body_end = len(body)
    previous_delta = -1
    end = 0
    for _ in range(header.record_count):
        start = end
        length, at = read_varint(body, start)
        end = at + length
        if length < 0 or end > body_end:
            raise CorruptBatch("a record reaches beyond the batch")
        # One byte of attributes, unused so far, precedes the deltas.
        timestamp_delta, at = read_varint(body, at + 1, 64)
        offset_delta, at = read_varint(body, at)
        key_length, key_at = read_varint(body, at)
        key_end = key_at + key_length if key_length > 0 else key_at
        value_length, value_at = read_varint(body, key_end)
        value_end = value_at + value_length if value_length > 0 else value_at
        if key_length < -1 or value_length < -1 or value_end >= end:
            raise CorruptBatch("a key or a value that does not fit its record")
        if not previous_delta < offset_delta <= last_offset_delta:
            raise CorruptBatch("an offset that is out of order or outside the batch")
        previous_delta = offset_delta
        timestamp = wrapped(base_timestamp + timestamp_delta)
        key = None if key_length < 0 else body[key_at:key_end]
        if value_length < 0:
            value_at = -1
        yield base_offset + offset_delta, timestamp, key, value_at, value_end, start, end
    if end != body_end:
        raise CorruptBatch("bytes are left after the last record")


def read_headers(body: bytes, at: int, record_end: int) -> tuple[tuple[str, bytes | None], ...]:
    """The headers that start at `at` and fill the rest of the record."""
    if body[at] == 0 and at + 1 == record_end:
        return ()
    count, at = read_varint(body, at)
    if not 0 <= count <= ARRAY_ITEMS_MAX:
        # Two bytes of an empty header become a hundred in memory, hence the limit.
        raise CorruptBatch(f"a record with {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name_at, name_end = _read_span(body, at, record_end)
        if name_at < 0:
            raise CorruptBatch("a header without a name")
        try:
            name = body[name_at:name_end].decode()
        except UnicodeDecodeError:
            raise CorruptBatch("the name of a header is not UTF-8") from None
        value_at, at = _read_span(body, name_end, record_end)
        headers.append((name, None if value_at < 0 else body[value_at:at]))
    if at != record_end:
        raise CorruptBatch("a record is not as long as it says")
    return tuple(headers)


def _read_span(body: bytes, at: int, record_end: int) -> tuple[int, int]:
    """Start (-1 if absent) and end of the length-prefixed bytes at `at`."""
    length, at = read_varint(body, at)
    if length == -1:
        return -1, at
    if length < 0 or at + length > record_end:
        raise CorruptBatch("a key, value or header that does not fit its record")
    return at, at + length
