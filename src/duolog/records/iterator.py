"""Iterates over batches and their records (see body.py for how strictly).

The checksum is not checked: whoever took the batch from a disk or a socket has done so (see
checksum.py), and it should not be paid twice.
"""

from collections.abc import Iterator

from typing_extensions import Buffer

from duolog.model.errors import CorruptBatch
from duolog.records.body import open_body, read_headers, walk
from duolog.records.header import (
    HEADER_BYTES,
    MAGIC,
    BatchHeader,
    read_header,
)
from duolog.records.record import Record


def iter_batches(buffer: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """The consecutive batches in `buffer`; raises CorruptBatch at a torn last one."""
    view = memoryview(buffer)
    at = 0
    while at < len(view):
        if len(view) - at < HEADER_BYTES:
            raise CorruptBatch("the last batch ends inside its header")
        header = read_header(view, at)
        if header.magic != MAGIC:
            raise CorruptBatch(f"a batch of format {header.magic}")
        size = header.size
        if not HEADER_BYTES <= size <= len(view) - at:
            raise CorruptBatch("the length of a batch does not fit the data")
        yield header, view[at : at + size]
        at += size


def iter_records(batch: Buffer, *, decompressed_bytes_max: int) -> Iterator[Record]:
    """The records of one whole batch, with their offsets and timestamps."""
    header, body = _open(batch, decompressed_bytes_max)
    return _records(header, body)


def records_of(
    header: BatchHeader, batch: memoryview, *, decompressed_bytes_max: int
) -> Iterator[Record]:
    """The records of a batch that `iter_batches` yielded."""
    return _records(header, open_body(header, batch, decompressed_bytes_max=decompressed_bytes_max))


def _records(header: BatchHeader, body: bytes) -> Iterator[Record]:
    append_time = header.max_timestamp if header.uses_log_append_time else None
    for offset, timestamp, key, value_at, value_end, _, end in walk(header, body):
        yield Record(
            key,
            None if value_at < 0 else body[value_at:value_end],
            read_headers(body, value_end, end),
            timestamp if append_time is None else append_time,
            offset,
        )


def iter_keys(
    batch: Buffer, *, decompressed_bytes_max: int
) -> Iterator[tuple[int, bytes | None, bool, memoryview]]:
    """Yields per record what compaction needs: offset, key, True if it is a tombstone, encoded
    bytes.

    The encoded record is for builder.rebuild_batch. Values are not copied and headers not read.
    """
    header, body = _open(batch, decompressed_bytes_max)
    view = memoryview(body)
    for offset, _, key, value_at, _, start, end in walk(header, body):
        yield offset, key, value_at < 0, view[start:end]


def _open(batch: Buffer, decompressed_bytes_max: int) -> tuple[BatchHeader, bytes]:
    view = memoryview(batch)
    if len(view) < HEADER_BYTES:
        raise CorruptBatch("the batch ends inside its header")
    header = read_header(view)
    if header.magic != MAGIC:
        raise CorruptBatch(f"a batch of format {header.magic}")
    if header.size != len(view):
        raise CorruptBatch("the batch is not as long as it says")
    return header, open_body(header, view, decompressed_bytes_max=decompressed_bytes_max)
