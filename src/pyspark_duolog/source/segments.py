"""Sealed segments of a data directory, read without a broker.

A sealed segment is never written to again, so it can be read in place, or from a copy. The newest
segment of a directory is never taken for sealed, even in a copy. Any defect ends the reading here,
at a known offset from where a broker is asked: a missing or truncated file, a gap before the next
file, a wrong checksum. Holes that compaction leaves inside a file are no gaps.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from duolog.model.errors import Refusal
from pyspark_duolog.codec.decode import decode
from pyspark_duolog.codec.layout import DECOMPRESSED_BYTES_MAX, Batches, Walk
from pyspark_duolog.codec.plain import Part, Taking, is_taken
from pyspark_duolog.errors import InvalidOption
from pyspark_duolog.source.planning import Range

_LOG_NAMES = "[0-9]" * 20 + ".log"
_INDEX_ENTRY = np.dtype([("relative_offset", ">u4"), ("position", ">u4")])
_READ_BYTES = 1 << 18
"""Bytes per read, so that they stay in the processor's cache until they are checked."""


class Chunk(NamedTuple):
    """Some complete, consecutive batches of one segment."""

    base_offset: int
    next_offset: int
    last_epoch: int
    rows: Iterable[pa.RecordBatch]
    """Wanted rows; to be consumed before the next chunk is requested."""


class _Wanted(NamedTuple):
    columns: Sequence[str]
    end_offset: int


def partition_directory(directories: Sequence[Path], wanted: Range) -> Path | None:
    """Directory of the partition, if one holds this very topic; else None."""
    for directory in directories:
        if not directory.is_dir():
            raise InvalidOption(f"there is no data directory '{directory}' where a task runs")
        found = directory / f"{wanted.topic}-{wanted.partition}"
        if (found / f"topic-id.{wanted.topic_id}").exists():
            return found
    return None


def sealed_chunks(
    directory: Path, wanted: Range, columns: Sequence[str], bytes_max: int
) -> Iterator[Chunk]:
    """Chunks from the first wanted offset on, without a gap, up to the active segment or the
    end."""
    bases = sorted(int(path.stem) for path in directory.glob(_LOG_NAMES))
    next_offset = wanted.first_offset
    first = bisect_right(bases, next_offset) - 1
    buffer = _memory(bytes_max)
    asked = _Wanted(columns, wanted.end_offset)
    for index in range(max(first, 0), len(bases) - 1):
        if bases[index] > next_offset or next_offset >= wanted.end_offset:
            return
        for chunk in _chunks(directory, bases[index], next_offset, asked, buffer):
            next_offset = chunk.next_offset
            yield chunk
            if next_offset >= wanted.end_offset:
                return


def _chunks(
    directory: Path, base: int, first_offset: int, wanted: _Wanted, buffer: memoryview
) -> Iterator[Chunk]:
    stem = directory / f"{base:020d}"
    try:
        file = os.open(stem.with_suffix(".log"), os.O_RDONLY)
    except FileNotFoundError:
        # Retention has removed the segment meanwhile.
        return
    try:
        start = _indexed_position(stem.with_suffix(".index"), first_offset - base)
        chunks = _read(file, start, first_offset, wanted, buffer)
        first = next(chunks, None)
        if start and (first is None or first.base_offset > first_offset):
            # The index is wrong: read from the start of the segment.
            chunks = _read(file, 0, first_offset, wanted, buffer)
            first = next(chunks, None)
        if first is not None:
            yield first
            yield from chunks
    finally:
        os.close(file)


def _read(
    file: int, position: int, next_offset: int, wanted: _Wanted, buffer: memoryview
) -> Iterator[Chunk]:
    while True:
        if is_taken(wanted.columns):
            taking = Taking(wanted.columns, next_offset, wanted.end_offset)
            for part in _taken(file, position, taking, buffer):
                yield Chunk(part.base_offset, part.next_offset, part.last_epoch, (part.rows,))
            position += taking.bytes_taken
            next_offset = taking.next_offset
        walk = Walk(buffer, next_offset)
        try:
            count = _fill(file, position, buffer, walk)
            found = walk.found()
        except Refusal:
            return
        if found.bytes_read:
            chunk = _decoded(buffer[:count], found, next_offset, wanted)
            next_offset = found.next_offset
            position += found.bytes_read
            yield chunk
        elif count == len(buffer) and count < DECOMPRESSED_BYTES_MAX:
            # One batch is larger than the buffer.
            buffer = _memory(2 * count)
        else:
            return


def _taken(file: int, position: int, taking: Taking, buffer: memoryview) -> Iterator[Part]:
    """Plain batches from a position on, in parts of at most the buffer's size."""
    piece = buffer[:_READ_BYTES]
    handed_on = 0
    while count := os.preadv(file, [piece], position + taking.bytes_taken):
        taken = taking.take(piece, 0, count)
        yield from taking.parts()
        if taking.bytes_taken - handed_on >= len(buffer) - len(piece):
            handed_on = taking.bytes_taken
            yield from taking.rest()
        # The untaken end of a piece is read again, together with what follows.
        if not taken or taking.is_stuck:
            break
    yield from taking.rest()


def _decoded(buffer: memoryview, found: Batches, first_offset: int, wanted: _Wanted) -> Chunk:
    rows = decode(
        buffer,
        wanted.columns,
        found=found,
        first_offset=first_offset,
        end_offset=wanted.end_offset,
    )
    first, last = found.headers[0], found.headers[-1]
    return Chunk(int(first["base_offset"]), found.next_offset, int(last["leader_epoch"]), rows)


def _fill(file: int, position: int, view: memoryview, walk: Walk) -> int:
    """Fill the buffer, walking over the batches as they are read; returns the bytes read."""
    filled = 0
    while filled < len(view):
        count = os.preadv(file, [view[filled : filled + _READ_BYTES]], position + filled)
        if not count:
            break
        filled += count
        walk.to(filled)
    return filled


def _memory(size: int) -> memoryview:
    """Memory from numpy, which requests huge pages: records are looked up all over it."""
    return np.empty(size, np.uint8).data


def _indexed_position(index: Path, relative_offset: int) -> int:
    """A batch boundary at or before the offset, if the index is right."""
    try:
        data = index.read_bytes()
    except FileNotFoundError:
        return 0
    entries = np.frombuffer(data, _INDEX_ENTRY, len(data) // _INDEX_ENTRY.itemsize)
    after = int(np.searchsorted(entries["relative_offset"], relative_offset, side="right"))
    return int(entries["position"][after - 1]) if after else 0
