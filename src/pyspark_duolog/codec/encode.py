"""Encodes Arrow to record batches: records in one pass of C if it was compiled, and a header.

Without the compiled module numpy encodes every field of all records at once.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from duolog.records.checksum import seal
from duolog.records.compression import NONE, compress
from duolog.records.header import (
    HEADER,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MAGIC,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
)
from pyspark_duolog.codec.varints import Integers, varint_sizes, write_varints

try:
    from pyspark_duolog.codec import _records
except ImportError:
    # There was no compiler.
    _records = None  # type: ignore[assignment]

BATCH_BYTES_MAX = 512 * 1024
"""Limit before compression, unless a single record is larger."""
BATCH_RECORDS_MAX = 10_000

_RECORD_OVERHEAD_BYTES = 32
_NO_EPOCH = -1
_SEQUENCE_MASK = 0x7FFF_FFFF
"""Mask by which sequences wrap at 2^31."""
_EMPTY = pa.scalar(b"", pa.binary())


class Rows(NamedTuple):
    """Records to write, as arrays of equal length; without nulls, unless noted."""

    key: pa.Array
    """Binary; null where a record has no key."""
    value: pa.Array
    """Binary; null where a record has no value."""
    timestamp_ms: Integers
    headers: pa.Array | None = None
    """Headers typed as arrays.HEADERS_TYPE; null means none."""


class Producer(NamedTuple):
    """Identity by which a broker recognises batches that it has already."""

    id: int = NO_PRODUCER_ID
    epoch: int = _NO_EPOCH
    sequence: int = NO_SEQUENCE
    """Sequence number of the first record."""


class EncodedBatch(NamedTuple):
    batch: bytearray | memoryview
    """Sealed batch with base offset 0. Valid until the next one is made."""
    record_count: int


Unsealed = Callable[[int], bytearray | memoryview]
"""Returns the batch of that number: its records behind room for a header."""


def encode(
    rows: Rows,
    *,
    compression: int = NONE,
    producer: Producer | None = None,
    batch_bytes_max: int = BATCH_BYTES_MAX,
) -> Iterator[EncodedBatch]:
    """The rows in order, cut into batches."""
    count = len(rows.timestamp_ms)
    if not count:
        return
    producer = producer or Producer()
    headers = encode_headers(rows.headers, count)
    sizes = _lengths(rows.key) + _lengths(rows.value) + _lengths(headers) + _RECORD_OVERHEAD_BYTES
    cuts = _cuts(sizes, batch_bytes_max)
    starts, counts = cuts[:-1], np.diff(cuts)
    if _records is None:
        unsealed = _joined_batches(rows, headers, cuts)
    else:
        unsealed = _written_batches(rows, headers, cuts, np.add.reduceat(sizes, starts))
    max_timestamps = np.maximum.reduceat(rows.timestamp_ms, starts)
    for number, start in enumerate(starts.tolist()):
        batch = unsealed(number)
        if compression != NONE:
            records = memoryview(batch)[HEADER_BYTES:]
            batch = bytearray(HEADER_BYTES) + compress(compression, records)
        record_count = int(counts[number])
        sequence = producer.sequence
        if sequence != NO_SEQUENCE:
            sequence = (sequence + start) & _SEQUENCE_MASK
        HEADER.pack_into(
            batch,
            0,
            0,
            len(batch) - LENGTH_PREFIX_BYTES,
            _NO_EPOCH,
            MAGIC,
            0,
            compression,
            record_count - 1,
            int(rows.timestamp_ms[start]),
            int(max_timestamps[number]),
            producer.id,
            producer.epoch,
            sequence,
            record_count,
        )
        seal(batch)
        yield EncodedBatch(batch, record_count)


def encode_headers(headers: pa.Array | None, count: int) -> pa.Array:
    """Encoded headers of each record: their count, then names and values."""
    if headers is None or headers.null_count == len(headers):
        return pa.repeat(pa.scalar(b"\x00", pa.binary()), count)
    lengths = pc.fill_null(pc.list_value_length(headers), 0).to_numpy(zero_copy_only=False)
    entries = headers.flatten()
    encoded = _joined(
        _binary(*write_varints(_lengths(entries.field("key")))),
        entries.field("key").cast(pa.binary()),
        _binary(*write_varints(_lengths_or_absent(entries.field("value")))),
        entries.field("value"),
    )
    edges = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    per_record = pc.binary_join(pa.ListArray.from_arrays(pa.array(edges), encoded), _EMPTY)
    return _joined(_binary(*write_varints(lengths.astype(np.int64))), per_record)


def _written_batches(rows: Rows, headers: pa.Array, cuts: Integers, sizes: Integers) -> Unsealed:
    """Batches written by the C module, all into one buffer, as fresh memory is slow.

    `sizes`: upper bounds.
    """
    room = memoryview(np.empty(HEADER_BYTES + int(sizes.max()), np.uint8).data)
    edges = cuts.tolist()
    columns = [(each.offset, *each.buffers()) for each in (rows.key, rows.value, headers)]

    def unsealed(number: int) -> memoryview:
        start, stop = edges[number], edges[number + 1]
        return room[: _records.write(room, HEADER_BYTES, start, stop, rows.timestamp_ms, *columns)]

    return unsealed


def _joined_batches(rows: Rows, headers: pa.Array, cuts: Integers) -> Unsealed:
    starts, counts = cuts[:-1], np.diff(cuts)
    offset_delta = np.arange(int(cuts[-1])) - np.repeat(starts, counts)
    timestamp_delta = rows.timestamp_ms - np.repeat(rows.timestamp_ms[starts], counts)
    records = _encode_records(rows, headers, offset_delta, timestamp_delta)
    edges = _edges(records)[cuts]
    content = memoryview(records.buffers()[2])

    def unsealed(number: int) -> bytearray:
        batch = bytearray(HEADER_BYTES)
        batch += content[edges[number] : edges[number + 1]]
        return batch

    return unsealed


def _encode_records(
    rows: Rows, headers: pa.Array, offset_delta: Integers, timestamp_delta: Integers
) -> pa.Array:
    key_length, value_length = _lengths_or_absent(rows.key), _lengths_or_absent(rows.value)
    content_sizes = (
        1  # The byte of attributes.
        + varint_sizes(timestamp_delta)
        + varint_sizes(offset_delta)
        + varint_sizes(key_length)
        + np.maximum(key_length, 0)
        + varint_sizes(value_length)
        + np.maximum(value_length, 0)
        + _lengths(headers)
    )
    attributes = np.zeros((len(offset_delta), 1), np.uint8)
    columns = [
        write_varints(content_sizes),
        (attributes, np.ones_like(attributes, np.bool_)),
        write_varints(timestamp_delta),
        write_varints(offset_delta),
        write_varints(key_length),
    ]
    before_key = _binary(
        np.hstack([rows for rows, _ in columns]), np.hstack([mask for _, mask in columns])
    )
    return _joined(before_key, rows.key, _binary(*write_varints(value_length)), rows.value, headers)


def _cuts(sizes: Integers, bytes_max: int) -> Integers:
    """First row of each batch, then the end of the last one."""
    ends = np.cumsum(sizes)
    cuts = [0]
    while cuts[-1] < len(sizes):
        start = cuts[-1]
        taken = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, taken + bytes_max, side="right"))
        cuts.append(min(max(stop, start + 1), start + BATCH_RECORDS_MAX))
    return np.array(cuts, np.int64)


def _joined(*parts: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(
        *parts, _EMPTY, null_handling="replace", null_replacement=b""
    )


def _binary(rows: npt.NDArray[np.uint8], mask: npt.NDArray[np.bool_]) -> pa.Array:
    """Byte strings, one per row, of the bytes that the mask keeps."""
    edges = np.concatenate(([0], np.cumsum(mask.sum(axis=1)))).astype(np.int32)
    buffers = [None, pa.py_buffer(edges), pa.py_buffer(rows[mask])]
    return pa.BinaryArray.from_buffers(pa.binary(), len(rows), buffers)


def _lengths(array: pa.Array) -> Integers:
    lengths: Integers = pc.fill_null(pc.binary_length(array), 0).to_numpy().astype(np.int64)
    return lengths


def _lengths_or_absent(array: pa.Array) -> Integers:
    lengths: Integers = pc.fill_null(pc.binary_length(array), -1).to_numpy().astype(np.int64)
    return lengths


def _edges(array: pa.Array) -> Integers:
    """Offsets of the items of a freshly made array in its bytes."""
    return np.frombuffer(array.buffers()[1], np.int32, len(array) + 1).astype(np.int64)
