"""Builds whole batches: new ones from records, and compacted ones from the records that are left.

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
RECORD_OVERHEAD_BYTES = 32
"""Bytes of lengths, deltas and counts, and of a share of the batch's header."""
HEADER_OVERHEAD_BYTES = 10
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
    """Builds a complete, sealed batch.

    A record without an offset follows the one before it. `last_offset_delta` is given when the
    batch covers more offsets than its last record's. `append_time_ms` makes it a batch of
    LogAppendTime; without it the records' own timestamps count.
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
    return _assemble(
        body,
        base_offset,
        leader_epoch,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        len(records),
    )


def encoded_size(record: Record) -> int:
    """Upper bound of the record's bytes in a batch."""
    size = RECORD_OVERHEAD_BYTES + len(record.key or b"") + len(record.value or b"")
    for name, value in record.headers:
        size += HEADER_OVERHEAD_BYTES + 4 * len(name) + len(value or b"")
    return size


def rebuild_batch(
    original: BatchHeader, records: Sequence[Buffer], *, delete_horizon_ms: int | None = None
) -> bytearray:
    """Rebuilds the batch with only the given records, each as iterator.iter_keys yielded it.

    Offsets, producer and sequences stay, so that the log keeps its gaps and a restarted broker
    still knows the producer's last sequence; for that reason a batch that lost all its records is
    kept as a bare header. `delete_horizon_ms` is when the tombstones in it may go; Kafka keeps it
    in place of the base timestamp.
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
    return _assemble(
        b"".join(encoded),
        original.base_offset,
        original.leader_epoch,
        attributes,
        original.last_offset_delta,
        base_timestamp,
        max_timestamp,
        original.producer_id,
        original.producer_epoch,
        original.base_sequence,
        len(encoded),
    )


def _assemble(
    body: Buffer,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
) -> bytearray:
    """Seals header and compressed body as one batch."""
    batch = bytearray(HEADER_BYTES)
    if record_count:
        batch += compress(attributes & COMPRESSION_MASK, body)
    HEADER.pack_into(
        batch,
        0,
        base_offset,
        len(batch) - LENGTH_PREFIX_BYTES,
        leader_epoch,
        MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    seal(batch)
    return batch


def _encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    key, value, headers = record.key, record.value, record.headers
    parts = [
        _ATTRIBUTES,
        encode_varint(timestamp_delta),
        encode_varint(offset_delta),
        *((_ABSENT,) if key is None else (encode_varint(len(key)), key)),
        *((_ABSENT,) if value is None else (encode_varint(len(value)), value)),
        encode_varint(len(headers)),
    ]
    for name, content in headers:
        _append_span(parts, name.encode())
        _append_span(parts, content)
    encoded = b"".join(parts)
    return encode_varint(len(encoded)) + encoded


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
    """Re-encodes the record for a base timestamp that is `shift_ms` earlier."""
    _, at = read_varint(encoded, 0)
    attributes_end = at + len(_ATTRIBUTES)
    delta, delta_end = read_varint(encoded, attributes_end, 64)
    content = b"".join(
        (encoded[at:attributes_end], encode_varint(wrapped(delta + shift_ms)), encoded[delta_end:])
    )
    return encode_varint(len(content)) + content
