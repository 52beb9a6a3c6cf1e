"""Fast path for batches whose records are only a value, as most messages of queues are.

All other bytes of such a record depend on its length and index alone. Equal to records/builder.py
and records/iterator.py, as tests/unit/core/queues proves.
"""

from typing_extensions import Buffer

from duolog.model.errors import CorruptBatch
from duolog.records.checksum import seal
from duolog.records.compression import NONE
from duolog.records.header import (
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
)
from duolog.records.varint import encode_varint, read_varint

RECORDS_MAX = 1_024
"""Limit of the fast path; a batch with more records takes the ordinary one."""

_BEFORE_DELTA = b"\0\0"
"""Bytes for no attributes, and the timestamp of the batch."""
_NO_KEY = encode_varint(-1)
_NO_HEADERS = b"\0"


def _join_in_python(values: list[bytes], room: int, /) -> bytearray:
    parts: list[bytes] = [bytes(room)]
    for place, value in enumerate(values):
        parts += _frame(place, len(value))
        parts += (value, _NO_HEADERS)
    return bytearray().join(parts)


def _split_in_python(body: Buffer, count: int, /) -> list[bytes] | None:
    body = memoryview(body)
    values = []
    end = 0
    try:
        for place in range(count):
            start = end
            record_bytes, at = read_varint(body, start)
            end = at + record_bytes
            at += len(_BEFORE_DELTA) + len(encode_varint(place)) + len(_NO_KEY)
            value_bytes, at = read_varint(body, at)
            frame = b"".join(_frame(place, max(value_bytes, 0)))
            # Every byte but the value's is compared, so nothing else needs checking.
            if end > len(body) or at + value_bytes + len(_NO_HEADERS) != end or value_bytes < 0:
                return None
            if body[start:at] != frame or body[end - 1 : end] != _NO_HEADERS:
                return None
            values.append(bytes(body[at : at + value_bytes]))
    except CorruptBatch:
        return None
    return values if end == len(body) else None


def _frame(place: int, value_bytes: int) -> tuple[bytes, ...]:
    """The bytes that precede the value of a record."""
    within = (_BEFORE_DELTA, encode_varint(place), _NO_KEY, encode_varint(value_bytes))
    length = sum(map(len, within)) + value_bytes + len(_NO_HEADERS)
    return encode_varint(length), *within


try:
    from duolog.core.queues._plain_records import join_records, split_records
except ImportError:
    # No compiler was present when Duolog was installed.
    join_records, split_records = _join_in_python, _split_in_python


def build_plain_batch(values: list[bytes], timestamp: int, attributes: int = NONE) -> bytearray:
    """Builds a sealed batch of up to RECORDS_MAX records with these values."""
    count = len(values)
    assert 0 < count <= RECORDS_MAX
    batch = join_records(values, HEADER_BYTES)
    HEADER.pack_into(
        batch,
        0,
        0,
        len(batch) - LENGTH_PREFIX_BYTES,
        -1,
        MAGIC,
        0,
        attributes,
        count - 1,
        timestamp,
        timestamp,
        NO_PRODUCER_ID,
        -1,
        NO_SEQUENCE,
        count,
    )
    seal(batch)
    return batch


def plain_values(header: BatchHeader, batch: memoryview) -> list[bytes] | None:
    """The values of a batch like those of `build_plain_batch`; None for any other.

    Its records have consecutive offsets and the batch's timestamp.
    """
    count = header.record_count
    if header.attributes & ~LOG_APPEND_TIME_BIT != NONE or not 0 < count <= RECORDS_MAX:
        return None
    if header.last_offset_delta != count - 1:
        return None
    return split_records(batch[HEADER_BYTES:], count)
