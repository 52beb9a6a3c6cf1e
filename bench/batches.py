"""Kafka v2 record batches of equal records, encoded here so that the benchmark checks the
broker with bytes the broker's own code did not make. Pure."""

from struct import Struct

import crc32c

_HEAD = Struct(">qiibI")
"""Base offset, length, leader epoch, magic, checksum: what the checksum does not cover."""
_BODY = Struct(">hiqqqhii")
"""Attributes, last offset delta, two timestamps, producer id, epoch and sequence, count."""

BATCH_OVERHEAD_BYTES = _HEAD.size + _BODY.size
_LENGTH_COUNTED_FROM = 12
_MAGIC = 2


def varint(value: int) -> bytes:
    """A signed zigzag varint, as in a record's fields."""
    left = (value << 1) ^ (value >> 63)
    out = bytearray()
    while left >= 0x80:
        out.append(left & 0x7F | 0x80)
        left >>= 7
    out.append(left)
    return bytes(out)


def encode_record(offset_delta: int, value: bytes) -> bytes:
    """A record without key or headers, at the batch's base timestamp."""
    body = b"\x00" + varint(0) + varint(offset_delta) + varint(-1)
    body += varint(len(value)) + value + varint(0)
    return varint(len(body)) + body


def encode_batch(values: list[bytes], *, timestamp_ms: int) -> bytes:
    """An uncompressed batch without a producer id, at base offset 0."""
    records = b"".join(encode_record(i, value) for i, value in enumerate(values))
    last = len(values) - 1
    body = _BODY.pack(0, last, timestamp_ms, timestamp_ms, -1, -1, -1, len(values)) + records
    length = _HEAD.size + len(body) - _LENGTH_COUNTED_FROM
    return _HEAD.pack(0, length, -1, _MAGIC, crc32c.crc32c(body)) + body
