"""Verifies every batch in a stretch of a file, and finds where a damaged stretch ends.

Used by recovery and by the scrubber. Memory stays at one window, however long a damaged header
claims its batch to be.
"""

from collections.abc import Callable, Iterator

from crc32c import crc32c

from duolog.log.epochs import NO_EPOCH
from duolog.log.quarantine import DamagedRange
from duolog.log.walk import SEGMENT_OFFSETS_MAX, is_plausible
from duolog.ports.disk import File
from duolog.records.header import (
    CRC_FROM,
    HEADER_BYTES,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    read_header,
)

WINDOW_BYTES = 1 << 20

EpochOf = Callable[[int], int]
"""Returns the leader epoch of the record at an offset if that is certain; else NO_EPOCH."""

NOT_INTACT = "header or checksum is wrong"

_MAGIC_BYTE = bytes([MAGIC])


class Scanner:
    """Scans one segment's file from a batch boundary to `end`."""

    def __init__(
        self,
        file: File,
        segment_base: int,
        *,
        end: int,
        offset_limit: int | None = None,
        epoch_of: EpochOf = lambda offset: NO_EPOCH,
    ) -> None:
        self._file = file
        self._segment_base = segment_base
        self._end = end
        self._is_sealed = offset_limit is not None
        self._offset_limit = offset_limit or segment_base + SEGMENT_OFFSETS_MAX
        """Base offset of the next segment, beyond which no batch of this one reaches."""
        self._epoch_of = epoch_of
        self._window = b""
        self._window_at = 0

    def scan(self, position: int, offset: int) -> Iterator[tuple[int, BatchHeader] | DamagedRange]:
        """Position and header of each intact batch, and the damaged ranges between them.

        `offset` is the least that the batch at `position` may have. Damage that reaches the end of
        the file comes last; the caller decides if it is a torn tail.
        """
        epoch = NO_EPOCH
        while position < self._end:
            header = self._intact_at(position, offset)
            if (
                header is not None
                and not self._is_misnumbered(position, header, offset)
                and not self._is_of_wrong_epoch(position, header, epoch)
            ):
                yield position, header
                position += header.size
                offset = header.next_offset
                epoch = header.leader_epoch
                continue
            resumed = self._resume_after(position, offset)
            if resumed is None:
                next_offset = self._offset_limit if self._is_sealed else offset
                yield self._damage(position, self._end, offset, next_offset)
                return
            resumed_at, following = resumed
            yield self._damage(position, resumed_at, offset, following.base_offset)
            position, offset = resumed_at, following.base_offset

    def _is_misnumbered(self, position: int, header: BatchHeader, offset: int) -> bool:
        """True if a gap before the batch, as compaction leaves them, comes from a damaged base
        offset.

        The checksum does not cover it; the batch that follows gives it away.
        """
        if header.base_offset == offset:
            return False
        following = self._intact_at(position + header.size, offset)
        return following is not None and following.base_offset < header.next_offset

    def _is_of_wrong_epoch(self, position: int, header: BatchHeader, epoch_before: int) -> bool:
        """True if the leader epoch, which the checksum does not cover either, is damaged.

        Epochs ascend: if the history cannot tell, the neighbours give a wrong one away.
        """
        epoch = header.leader_epoch
        known = self._epoch_of(header.last_offset)
        if known != NO_EPOCH:
            return epoch != known
        if epoch <= epoch_before:
            return epoch < epoch_before
        following = self._intact_at(position + header.size, header.next_offset)
        return following is not None and epoch_before <= following.leader_epoch < epoch

    def _damage(self, position: int, end: int, first_offset: int, next_offset: int) -> DamagedRange:
        return DamagedRange(
            self._segment_base, position, end - position, first_offset, next_offset, NOT_INTACT
        )

    def _resume_after(self, position: int, offset: int) -> tuple[int, BatchHeader] | None:
        """The next intact batch. Tries the damaged one's length before it searches byte by byte."""
        data = self._bytes_at(position, HEADER_BYTES)
        if len(data) == HEADER_BYTES:
            damaged = read_header(data)
            if is_plausible(damaged, self._end - position):
                following = self._intact_at(position + damaged.size, offset)
                if following is not None:
                    return position + damaged.size, following
        candidate = position + 1
        while (found := self._next_magic(candidate)) is not None:
            following = self._intact_at(found, offset)
            if following is not None:
                return found, following
            candidate = found + 1
        return None

    def _next_magic(self, position: int) -> int | None:
        """The first position from the given one on at which a header has its magic number."""
        while position + HEADER_BYTES <= self._end:
            at = position + MAGIC_AT
            self._fill(at, 1)
            if not self._window:
                return None
            found = self._window.find(_MAGIC_BYTE, at - self._window_at)
            if found >= 0:
                return self._window_at + found - MAGIC_AT
            position = self._window_at + len(self._window) - MAGIC_AT
        return None

    def _intact_at(self, position: int, offset: int) -> BatchHeader | None:
        data = self._bytes_at(position, HEADER_BYTES)
        if len(data) < HEADER_BYTES:
            return None
        header = read_header(data)
        if not is_plausible(header, self._end - position) or header.base_offset < offset:
            return None
        if header.next_offset > self._offset_limit:
            return None
        return header if self._checksum_at(position, header.size) == header.crc else None

    def _checksum_at(self, position: int, size: int) -> int:
        at, end = position + CRC_FROM, position + size
        checksum = 0
        while at < end:
            chunk = self._bytes_at(at, min(end - at, WINDOW_BYTES))
            if not chunk:
                break
            checksum = crc32c(chunk, checksum)
            at += len(chunk)
        return checksum

    def _bytes_at(self, position: int, length: int) -> memoryview:
        self._fill(position, length)
        at = position - self._window_at
        return memoryview(self._window)[at : at + length]

    def _fill(self, position: int, length: int) -> None:
        """Loads the bytes into the window, as far as they are before the end."""
        length = max(0, min(length, self._end - position))
        at = position - self._window_at
        if at < 0 or at + length > len(self._window):
            wanted = min(max(length, WINDOW_BYTES), max(0, self._end - position))
            self._window = self._file.pread(wanted, position) if wanted else b""
            self._window_at = position
