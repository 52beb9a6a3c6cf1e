"""Changes that the log makes to a batch in place before it stores it."""

from struct import Struct

from duolog.records.checksum import seal
from duolog.records.header import (
    ATTRIBUTES_AT,
    BASE_OFFSET_AT,
    LEADER_EPOCH_AT,
    LOG_APPEND_TIME_BIT,
    MAX_TIMESTAMP_AT,
)

_INT16 = Struct(">h")
_pack_int32 = Struct(">i").pack_into
_pack_int64 = Struct(">q").pack_into


def assign(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Gives the batch its place in the log. Both fields lie outside the checksum."""
    _pack_int64(batch, BASE_OFFSET_AT, base_offset)
    _pack_int32(batch, LEADER_EPOCH_AT, leader_epoch)


def stamp_append_time(batch: bytearray | memoryview, now_ms: int) -> None:
    """Gives every record the time of the append, as `message.timestamp.type` may ask.

    The base timestamp stays, as in Kafka: the records' deltas refer to it, and readers take the
    maximum for all of them once the bit is set. Both are under the checksum.
    """
    (attributes,) = _INT16.unpack_from(batch, ATTRIBUTES_AT)
    _INT16.pack_into(batch, ATTRIBUTES_AT, attributes | LOG_APPEND_TIME_BIT)
    _pack_int64(batch, MAX_TIMESTAMP_AT, now_ms)
    seal(batch)
