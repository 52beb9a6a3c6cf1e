"""Batches whose records have a value and nothing else, as most messages of queues have.

What the batch says of such a record besides its value depends on its length and its place
alone, so it is worked out once for many: a third of the time that any batch takes. Equal to
records/builder.py and records/iterator.py, as tests/unit/core/queues proves.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, repeat
from struct import Struct

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

LENGTHS_REMEMBERED_MAX = 4_096
LAYOUTS_REMEMBERED_MAX = 128

_DELTAS = tuple(encode_varint(delta) for delta in range(1_024))
"""Offsets in a batch. One with more records goes the usual way."""
RECORDS_MAX = len(_DELTAS)
_SHORT_DELTAS = 64
"""So many of them take one byte; the others two."""

_NO_HEADER = bytes(HEADER_BYTES)
_BEFORE_DELTA = b"\0\0"
"""No attributes, and the timestamp of the batch."""
_NO_KEY = encode_varint(-1)
_NO_HEADERS = b"\0"


def build_plain_batch(values: Sequence[bytes], timestamp: int) -> bytearray:
    """A sealed batch of up to RECORDS_MAX records that have these values."""
    count = len(values)
    assert 0 < count <= RECORDS_MAX
    lengths = set(map(len, values))
    if len(lengths) == 1:
        heads = _heads(lengths.pop(), count)
    else:
        heads = tuple(
            before + delta + behind
            for delta, value in zip(_DELTAS, values, strict=False)
            for before, behind in (_frame(len(value), len(delta)),)
        )
    records = chain.from_iterable(zip(heads, values, repeat(_NO_HEADERS), strict=False))
    batch = bytearray().join(chain((_NO_HEADER,), records))
    HEADER.pack_into(
        batch,
        0,
        0,
        len(batch) - LENGTH_PREFIX_BYTES,
        -1,
        MAGIC,
        0,
        NONE,
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
    """The values of a batch as `build_plain_batch` makes them; None if it is another.

    The offsets of its records follow one another, and their timestamp is the batch's.
    """
    count = header.record_count
    if header.attributes & ~LOG_APPEND_TIME_BIT != NONE or not 0 < count <= RECORDS_MAX:
        return None
    if header.last_offset_delta != count - 1:
        return None
    body = batch[HEADER_BYTES:]
    try:
        values = _values_alike(body, count)
        return _values(bytes(body), count) if values is None else values
    except CorruptBatch:
        return None


def _values_alike(body: memoryview, count: int) -> list[bytes] | None:
    """Of records that are as long as the first, as those of most batches are; None if not."""
    values: list[bytes] = []
    end = 0
    while len(values) < count:
        first = len(values)
        start = end
        record_bytes, _ = read_varint(body, start)
        layout = _layout(record_bytes, first, count if first else min(count, _SHORT_DELTAS))
        if layout is None:
            return None
        record, expected = layout
        end = start + record.size * len(expected)
        if end > len(body):
            return None
        heads, found, tails = zip(*record.iter_unpack(body[start:end]), strict=True)
        # All of a record but its value is compared, so nothing of it is left to be checked.
        if heads != expected or tails.count(_NO_HEADERS) != len(tails):
            return None
        values += found
    return values if end == len(body) else None


def _values(body: bytes, count: int) -> list[bytes] | None:
    size = len(body)
    values = []
    end = record_bytes = length_bytes = delta_bytes = 0
    before = behind = b""
    for delta in _DELTAS[:count]:
        start = end
        # Most messages of a batch are as long as the one before.
        if len(delta) != delta_bytes or not body.startswith(before, start):
            record_bytes, at = read_varint(body, start)
            delta_bytes = len(delta)
            frame = _frame_within(record_bytes, delta_bytes)
            if frame is None:
                return None
            before, behind = frame
            length_bytes = at - start
        end = start + length_bytes + record_bytes
        expected = before + delta + behind
        if end > size or body[end - 1] or not body.startswith(expected, start):
            return None
        values.append(body[start + len(expected) : end - 1])
    return values if end == size else None


@lru_cache(LAYOUTS_REMEMBERED_MAX)
def _heads(value_bytes: int, count: int) -> tuple[bytes, ...]:
    """All that precedes the values of records that are as long as one another."""
    heads = []
    for delta in _DELTAS[:count]:
        before, behind = _frame(value_bytes, len(delta))
        heads.append(before + delta + behind)
    return tuple(heads)


@lru_cache(LAYOUTS_REMEMBERED_MAX)
def _layout(record_bytes: int, first: int, count: int) -> tuple[Struct, tuple[bytes, ...]] | None:
    """For records of this length, from one place in a batch to another: what cuts each into
    what precedes the value, the value, and what follows; and all that precedes the values."""
    frame = _frame_within(record_bytes, len(_DELTAS[first]))
    if frame is None:
        return None
    before, behind = frame
    heads = tuple(before + delta + behind for delta in _DELTAS[first:count])
    size = len(encode_varint(record_bytes)) + record_bytes
    value_bytes = size - len(heads[0]) - len(_NO_HEADERS)
    return Struct(f"{len(heads[0])}s{value_bytes}ss"), heads


@lru_cache(LENGTHS_REMEMBERED_MAX)
def _frame(value_bytes: int, delta_bytes: int) -> tuple[bytes, bytes]:
    """What precedes the offset of a record, and what is between that and the value."""
    behind = _NO_KEY + encode_varint(value_bytes)
    length = len(_BEFORE_DELTA) + delta_bytes + len(behind) + value_bytes + len(_NO_HEADERS)
    return encode_varint(length) + _BEFORE_DELTA, behind


@lru_cache(LENGTHS_REMEMBERED_MAX)
def _frame_within(record_bytes: int, delta_bytes: int) -> tuple[bytes, bytes] | None:
    """The same of a record of this length, if there is one."""
    rest = record_bytes - len(_BEFORE_DELTA) - delta_bytes - len(_NO_KEY) - len(_NO_HEADERS)
    for width in range(1, 6):
        value_bytes = rest - width
        if value_bytes >= 0 and len(encode_varint(value_bytes)) == width:
            return _frame(value_bytes, delta_bytes)
    return None
