"""Writes the segment that a rewrite makes, beside those that it will replace."""

from typing import NamedTuple

from duolog.log.file_names import CLEANED_SUFFIX, LOG_SUFFIX
from duolog.log.index_files import write_index
from duolog.log.sparse_index import SparseIndex
from duolog.log.swap import cleaned_stem, discard_cleaned
from duolog.ports.disk import Disk
from duolog.records.header import NO_TIMESTAMP, read_header

_BUFFER_BYTES = 1 << 20


class CleanedSegment(NamedTuple):
    base_offset: int
    end_offset: int
    size: int


class CleanedWriter:
    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        end_offset: int,
        index_interval_bytes: int,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._base_offset = base_offset
        self._end_offset = end_offset
        self._interval_bytes = index_interval_bytes
        self._stem = cleaned_stem(directory, base_offset, end_offset)
        self._file = disk.open(self._stem + LOG_SUFFIX + CLEANED_SUFFIX, create=True)
        self._file.truncate(0)
        self._index = SparseIndex()
        self._largest_timestamp = NO_TIMESTAMP
        self._buffer = bytearray()
        self._written = 0

    def append(self, batch: memoryview | bytearray) -> None:
        header = read_header(batch)
        position = self._written + len(self._buffer)
        if position >= self._index.last[1] + self._interval_bytes:
            relative = header.base_offset - self._base_offset
            self._index.add(relative, position, self._largest_timestamp)
        self._largest_timestamp = max(self._largest_timestamp, header.max_timestamp)
        self._buffer += batch
        if len(self._buffer) >= _BUFFER_BYTES:
            self._flush()

    def finish(self) -> CleanedSegment:
        """Completes the segment, durably but for its file names."""
        self._flush()
        self._file.sync()
        self._file.close()
        relative_end = self._end_offset - self._base_offset
        self._index.add(relative_end, self._written, self._largest_timestamp)
        write_index(self._disk, self._stem, self._index, name_suffix=CLEANED_SUFFIX)
        return CleanedSegment(self._base_offset, self._end_offset, self._written)

    def discard(self) -> None:
        self._file.close()
        discard_cleaned(self._disk, self._directory, self._base_offset, self._end_offset)

    def _flush(self) -> None:
        if self._buffer:
            self._file.pwritev([self._buffer], self._written)
            self._written += len(self._buffer)
            self._buffer = bytearray()
