"""Batches of a buffer: finds, checks and opens them, in groups of bounded size."""

from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from crc32c import crc32c
from typing_extensions import Buffer

from duolog.model.errors import CorruptBatch
from duolog.records.body import open_body
from duolog.records.header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    CRC_FROM,
    HEADER_BYTES,
    LENGTH_AT,
    LENGTH_PREFIX_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    read_header,
)
from duolog.records.record import RECORD_BYTES_MIN
from pyspark_duolog.codec.varints import Bytes, Integers

GROUP_BYTES_MAX = 16 << 20
"""Limit of batches decoded together. Below a megabyte numpy's overhead per call shows."""
DECOMPRESSED_BYTES_MAX = 128 << 20
"""Limit of one decompressed batch; a batch of a kilobyte may claim to hold a gigabyte."""

HEADER_TYPE = np.dtype(
    [
        ("base_offset", ">i8"),
        ("batch_length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("record_count", ">i4"),
    ]
)
"""Batch header as a numpy type; same layout as records.header.HEADER."""

_LENGTH = Struct(">i")
_INT64_MAX = (1 << 63) - 1


class Batches(NamedTuple):
    """Result of one walk over a buffer, before any batch is opened."""

    at: Integers
    end: Integers
    headers: npt.NDArray[np.void]
    """Headers of HEADER_TYPE, one for each batch."""
    next_offset: int
    """Offset after the last batch, which may be beyond its last record: compaction removes
    records."""
    bytes_read: int
    """Bytes of whole batches, without a torn one that a broker sends when its response is full."""


class Group(NamedTuple):
    """Opened batches in offset order; the arrays have one item for each."""

    data: Bytes
    """All bodies in the same order, perhaps with other bytes in between."""
    body_at: Integers
    body_end: Integers
    record_count: Integers
    base_offset: Integers
    last_offset_delta: Integers
    base_timestamp: Integers
    append_timestamp: Integers
    """Timestamp of all records of a batch with `is_append_time`."""
    is_append_time: Integers


class Walk:
    """A walk over the batches of a buffer while it is being filled.

    Bytes just written are still in a cache, where their checksum takes half as long.
    """

    def __init__(self, buffer: Buffer, next_offset: int) -> None:
        """`next_offset`: the offset from which the buffer is read."""
        self._view = memoryview(buffer)
        self._next_offset = next_offset
        self._places: list[int] = []
        self._checksums: list[int] = []
        self._end = 0
        """End of the last whole batch."""

    def to(self, filled: int) -> None:
        """Check all batches that are complete within the first `filled` bytes."""
        view, at = self._view, self._end
        length_at = _LENGTH.unpack_from
        while filled - at >= HEADER_BYTES:
            end = at + length_at(view, at + LENGTH_AT)[0] + LENGTH_PREFIX_BYTES
            if end - at < HEADER_BYTES:
                raise CorruptBatch(f"a batch of {end - at} bytes, after offset {self._next_offset}")
            if end > filled:
                break
            self._places.append(at)
            self._checksums.append(crc32c(view[at + CRC_FROM : end]))
            self._end = at = end

    def found(self) -> Batches:
        next_offset = self._next_offset
        at = np.array(self._places, np.int64)
        data = np.frombuffer(self._view, np.uint8)
        headers = data[at[:, None] + np.arange(HEADER_BYTES)].view(HEADER_TYPE)[:, 0]
        _check(headers, np.array(self._checksums, np.uint32), next_offset)
        if self._places:
            last = headers[-1]
            next_offset = max(
                next_offset, int(last["base_offset"]) + int(last["last_offset_delta"]) + 1
            )
        end = at + headers["batch_length"] + LENGTH_PREFIX_BYTES
        return Batches(at, end, headers, next_offset, self._end)


def find_batches(buffer: Buffer, next_offset: int) -> Batches:
    """All complete batches of the buffer, which is read from `next_offset` on."""
    walk = Walk(buffer, next_offset)
    walk.to(memoryview(buffer).nbytes)
    return walk.found()


def open_batches(
    buffer: Buffer,
    found: Batches,
    first_offset: int,
    end_offset: int,
    *,
    group_bytes_max: int = GROUP_BYTES_MAX,
) -> Iterator[Group]:
    """Groups of batches with records between the offsets, without control batches."""
    headers = found.headers
    base_offset = headers["base_offset"].astype(np.int64)
    attributes = headers["attributes"]
    wanted = np.flatnonzero(
        (attributes & CONTROL_BIT == 0)
        & (headers["record_count"] > 0)
        & (base_offset + headers["last_offset_delta"] >= first_offset)
        & (base_offset < end_offset)
    )
    if not np.any(attributes[wanted] & COMPRESSION_MASK):
        data = np.frombuffer(memoryview(buffer), np.uint8)
        body_at, body_end = found.at[wanted] + HEADER_BYTES, found.end[wanted]
        for start, stop in _cuts(body_end - body_at, group_bytes_max):
            some = wanted[start:stop]
            yield _group(data, body_at[start:stop], body_end[start:stop], headers[some])
        return
    # With one compressed batch all are copied, because their bodies must be contiguous.
    view = memoryview(buffer)
    bodies: list[bytes] = []
    bytes_held = 0
    for position, index in enumerate(wanted.tolist()):
        batch = view[found.at[index] : found.end[index]]
        bodies.append(
            open_body(read_header(batch), batch, decompressed_bytes_max=DECOMPRESSED_BYTES_MAX)
        )
        bytes_held += len(bodies[-1])
        if bytes_held >= group_bytes_max or position == len(wanted) - 1:
            body_end = np.cumsum([len(body) for body in bodies])
            body_at = body_end - np.array([len(body) for body in bodies])
            data = np.frombuffer(b"".join(bodies), np.uint8)
            some = wanted[position + 1 - len(bodies) : position + 1]
            yield _group(data, body_at, body_end, headers[some])
            bodies, bytes_held = [], 0


def _check(
    headers: npt.NDArray[np.void], checksums: npt.NDArray[np.uint32], next_offset: int
) -> None:
    if np.any(headers["magic"] != MAGIC):
        raise CorruptBatch(f"something that is no record batch, after offset {next_offset}")
    wrong = np.flatnonzero(headers["crc"] != checksums)
    if wrong.size:
        offset = headers["base_offset"][wrong[0]]
        raise CorruptBatch(f"the batch at offset {offset} has a wrong checksum")
    base_offset = headers["base_offset"].astype(np.int64)
    delta = headers["last_offset_delta"].astype(np.int64)
    if np.any((headers["record_count"] < 0) | (delta < 0) | (base_offset < 0)):
        raise CorruptBatch(f"a batch with a negative count or offset, after offset {next_offset}")
    if np.any(base_offset >= _INT64_MAX - delta):
        raise CorruptBatch(f"offsets of more than 64 bits, after offset {next_offset}")
    if np.any(base_offset[1:] <= (base_offset + delta)[:-1]):
        raise CorruptBatch(f"batches that are out of order, after offset {next_offset}")


def _cuts(sizes: Integers, bytes_max: int) -> Iterator[tuple[int, int]]:
    """Ranges of items whose sizes add up to at most `bytes_max`, or of one larger item."""
    ends = np.cumsum(sizes)
    start = 0
    while start < len(sizes):
        taken = int(ends[start] - sizes[start])
        stop = int(np.searchsorted(ends, taken + bytes_max, side="right"))
        stop = max(stop, start + 1)
        yield start, stop
        start = stop


def _group(
    data: Bytes, body_at: Integers, body_end: Integers, headers: npt.NDArray[np.void]
) -> Group:
    record_count = headers["record_count"].astype(np.int64)
    if np.any(record_count * RECORD_BYTES_MIN > body_end - body_at):
        raise CorruptBatch("a batch claims more records than fit in it")
    return Group(
        data,
        body_at,
        body_end,
        record_count,
        headers["base_offset"].astype(np.int64),
        headers["last_offset_delta"].astype(np.int64),
        headers["base_timestamp"].astype(np.int64),
        headers["max_timestamp"].astype(np.int64),
        (headers["attributes"] & LOG_APPEND_TIME_BIT) // LOG_APPEND_TIME_BIT,
    )
