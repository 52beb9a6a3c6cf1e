"""Builds whole batches: new ones from records, and compacted ones from what is left.

The encoding is proved equal to that of other clients in tests/unit/records.
"""

from collections.abc import Sequence

from typing_extensions import Buffer

from duolog.records.checksum import seal
from duolog.records.compression import NONE, compress
from duolog.records.header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
)
from duolog.records.record import Record
from duolog.records.varint import encode_varint, read_varint, wrapped

_ATTRIBUTES = b"\x00"
_ABSENT = encode_varint(-1)


def build_batch(
    records: Sequence[Record],
    *,
    compression: int = NONE,
    base_offset: int = 0,
    last_offset_delta: int | None = None,
    leader_epoch: int = -1,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = NO_SEQUENCE,
    append_time_ms: int | None = None,
    transactional: bool = False,
    control: bool = False,
) -> bytearray:
    """A complete batch, sealed.

    A record without an offset follows the one before it. `last_offset_delta` is given when
    the batch covers more offsets than its last record's. `append_time_ms` makes it a batch
    of LogAppendTime; without it the records' own timestamps count.
    """
    base_timestamp = records[0].timestamp if records else NO_TIMESTAMP
    body = bytearray()
    delta = -1
    for record in records:
        previous = delta
        delta = previous + 1 if record.offset is None else record.offset - base_offset
        assert delta > previous, "records are given in the order of their offsets"
        body += _encode_record(record, delta, wrapped(record.timestamp - base_timestamp))
    if last_offset_delta is None:
        last_offset_delta = max(delta, 0)
    assert last_offset_delta >= delta, "the batch covers all its records"

    attributes = compression if records else NONE
    if transactional:
        attributes |= TRANSACTIONAL_BIT
    if control:
        attributes |= CONTROL_BIT
    if append_time_ms is None:
        max_timestamp = max((record.timestamp for record in records), default=NO_TIMESTAMP)
    else:
        attributes |= LOG_APPEND_TIME_BIT
        max_timestamp = append_time_ms
    header = BatchHeader(
        base_offset=base_offset,
        batch_length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    return _assemble(header, body)


def rebuild_batch(
    original: BatchHeader, records: Sequence[Buffer], *, delete_horizon_ms: int | None = None
) -> bytearray:
    """The batch with only the given records, each as iterator.iter_keys yielded it.

    Offsets, producer and sequences stay, so that the log keeps its gaps and a restarted
    broker still knows the producer's last sequence; for that reason a batch that lost all
    its records is kept as a bare header. `delete_horizon_ms` is when the tombstones in it
    may go; Kafka keeps it in place of the base timestamp.
    """
    attributes = original.attributes
    base_timestamp = original.base_timestamp
    encoded = [bytes(record) for record in records]
    if delete_horizon_ms is not None:
        encoded = [_rebase(record, base_timestamp - delete_horizon_ms) for record in encoded]
        attributes |= DELETE_HORIZON_BIT
        base_timestamp = delete_horizon_ms
    if not encoded:
        attributes &= ~COMPRESSION_MASK
    max_timestamp = original.max_timestamp
    if encoded and not original.uses_log_append_time:
        max_timestamp = max(_timestamp(record, base_timestamp) for record in encoded)
    header = original._replace(
        attributes=attributes,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        record_count=len(encoded),
    )
    return _assemble(header, b"".join(encoded))


def _assemble(header: BatchHeader, body: Buffer) -> bytearray:
    """Header and compressed body as one sealed batch; its length and checksum are set here."""
    batch = bytearray(HEADER_BYTES)
    batch += compress(header.compression, body) if header.record_count else b""
    HEADER.pack_into(
        batch, 0, *header._replace(batch_length=len(batch) - LENGTH_PREFIX_BYTES, crc=0)
    )
    seal(batch)
    return batch


def _encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    parts = [_ATTRIBUTES, encode_varint(timestamp_delta), encode_varint(offset_delta)]
    _append_span(parts, record.key)
    _append_span(parts, record.value)
    parts.append(encode_varint(len(record.headers)))
    for name, value in record.headers:
        _append_span(parts, name.encode())
        _append_span(parts, value)
    content = b"".join(parts)
    return encode_varint(len(content)) + content


def _append_span(parts: list[bytes], content: bytes | None) -> None:
    if content is None:
        parts.append(_ABSENT)
    else:
        parts += (encode_varint(len(content)), content)


def _timestamp(encoded: bytes, base_timestamp: int) -> int:
    _, at = read_varint(encoded, 0)
    delta, _ = read_varint(encoded, at + len(_ATTRIBUTES), 64)
    return wrapped(base_timestamp + delta)


def _rebase(encoded: bytes, shift_ms: int) -> bytes:
    """The record relative to a base timestamp that is `shift_ms` earlier."""
    _, at = read_varint(encoded, 0)
    attributes_end = at + len(_ATTRIBUTES)
    delta, delta_end = read_varint(encoded, attributes_end, 64)
    content = b"".join(
        (encoded[at:attributes_end], encode_varint(wrapped(delta + shift_ms)), encoded[delta_end:])
    )
    return encode_varint(len(content)) + content
