"""Snapshots of the delivery state, as records in the journal.

A snapshot holds the state as of its first piece; changes written between the pieces apply after
it. It is valid once complete: a leader opens a partition only when all of its journal is
committed. Two are kept, because one may turn out to be damaged.
"""

from collections.abc import Iterator
from typing import NamedTuple

from duolog.broker.queues.journal import Journal
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.records.journal_head import NO_OFFSET, JournalHead

PIECE_BYTES = 1 << 20
"""Size of a snapshot's pieces; others are served between them."""

log = get_logger("queues")


class SnapshotWriting:
    """A snapshot being written to the journal."""

    __slots__ = ("_image", "_journal", "_pieces", "_written", "begun_offset", "end_offset", "size")

    def __init__(self, journal: Journal, image: bytes) -> None:
        self._journal = journal
        self._image = image
        self._pieces = max(1, -(-len(image) // PIECE_BYTES))
        self._written = 0
        self.size = len(image)
        self.begun_offset = NO_OFFSET
        self.end_offset = NO_OFFSET
        """Offset after the last piece; NO_OFFSET until that is written."""

    @property
    def is_complete(self) -> bool:
        return self.end_offset != NO_OFFSET

    @property
    def is_reliable(self) -> bool:
        """True if complete, committed and durable, so that older records may go."""
        partition = self._journal.partition
        return self.is_complete and self.end_offset <= min(
            partition.high_watermark, partition.log.durable_offset
        )

    def write_piece(self) -> None:
        """Writes the next piece; after a Refusal the snapshot must be given up."""
        first = self._written * PIECE_BYTES
        self._journal.append_piece(
            self._image[first : first + PIECE_BYTES], self._written, self._pieces
        )
        if not self._written:
            self.begun_offset = self._journal.begun_offset
        self._written += 1
        if self._written == self._pieces:
            self.end_offset = self._journal.partition.log.end_offset
            self._image = b""

    def write_all(self) -> None:
        while not self.is_complete:
            self.write_piece()

    def rely(self) -> int:
        """Makes this the snapshot that new records name; returns the previous one's offset."""
        before = self._journal.snapshot_offset
        self._journal.snapshot_offset = self.begun_offset
        self._journal.begun_offset = NO_OFFSET
        return before

    def give_up(self, refusal: Refusal) -> None:
        self._journal.begun_offset = NO_OFFSET
        log.error("delivery snapshot not written", error=str(refusal))


class Snapshot(NamedTuple):
    offset: int
    """First offset of the snapshot; changes after it are not included."""
    head: JournalHead
    image: bytes


def snapshots(journal: Journal) -> Iterator[Snapshot]:
    """Yields complete snapshots, newest first."""
    tried = set()
    last = journal.last_head()
    if last is not None:
        for offset in (last.begun_offset, last.snapshot_offset):
            tried.add(offset)
            if offset != NO_OFFSET and (found := _read(journal, offset)) is not None:
                yield found
        if last.begun_offset == last.snapshot_offset == NO_OFFSET:
            return
    # Damage: the last record does not lead to a good snapshot, so look at all records.
    begun = [entry.offset for entry in journal.entries(0) if _is_first(entry.offset, entry.head)]
    for offset in reversed(begun):
        if offset not in tried and (found := _read(journal, offset)) is not None:
            yield found


def _read(journal: Journal, begun_offset: int) -> Snapshot | None:
    """Reads the snapshot that begins at the offset; None if it is incomplete or unreadable."""
    pieces: list[bytes] = []
    if not journal.partition.log.start_offset <= begun_offset:
        return None
    for offset, head, content in journal.entries(begun_offset):
        if not pieces and not (offset == begun_offset and _is_first(offset, head)):
            return None
        if not head.pieces:
            continue
        if head.begun_offset != begun_offset or head.piece != len(pieces):
            return None
        pieces.append(content)
        if len(pieces) == 1:
            first = head
        if len(pieces) == head.pieces:
            return Snapshot(begun_offset, first, b"".join(pieces))
    return None


def _is_first(offset: int, head: JournalHead) -> bool:
    return head.pieces > 0 and head.piece == 0 and head.begun_offset == offset
