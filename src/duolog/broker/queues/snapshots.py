"""Snapshots of the delivery state, as records in the journal.

A snapshot is what is known when its first piece is written; changes may be written between the
pieces, and come after it. It counts once it is complete: whoever opens a partition as its
leader has nothing in the journal that is not committed. Two are kept, because one may turn out
to be damaged.
"""

from collections.abc import Iterator
from typing import NamedTuple

from duolog.broker.queues.journal import Journal
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.records.journal_head import NO_OFFSET, JournalHead

PIECE_BYTES = 1 << 20
"""Of a snapshot that is written at once; between the pieces of a larger one others are served."""

log = get_logger("queues")


class SnapshotWriting:
    """A snapshot on its way into the journal."""

    __slots__ = ("_image", "_journal", "_pieces", "_written", "begun_offset", "end_offset", "size")

    def __init__(self, journal: Journal, image: bytes) -> None:
        self._journal = journal
        self._image = image
        self._pieces = max(1, -(-len(image) // PIECE_BYTES))
        self._written = 0
        self.size = len(image)
        self.begun_offset = NO_OFFSET
        self.end_offset = NO_OFFSET
        """Behind its last piece, once that is written."""

    @property
    def is_complete(self) -> bool:
        return self.end_offset != NO_OFFSET

    @property
    def is_reliable(self) -> bool:
        """Whether nothing can take it back any more, so that what lies before may go."""
        partition = self._journal.partition
        return self.is_complete and self.end_offset <= min(
            partition.high_watermark, partition.log.durable_offset
        )

    def write_piece(self) -> None:
        """The next piece. Refusal when that fails: then it is not completed."""
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
        """Records name it from now on; returns where the one before it begins."""
        before = self._journal.snapshot_offset
        self._journal.snapshot_offset = self.begun_offset
        self._journal.begun_offset = NO_OFFSET
        return before

    def give_up(self, refusal: Refusal) -> None:
        self._journal.begun_offset = NO_OFFSET
        log.error("a delivery snapshot was not written", error=str(refusal))


class Snapshot(NamedTuple):
    offset: int
    """Where it begins: changes from here on are not in it."""
    head: JournalHead
    image: bytes


def snapshots(journal: Journal) -> Iterator[Snapshot]:
    """Those that are complete, the newest first."""
    tried = set()
    last = journal.last_head()
    if last is not None:
        for offset in (last.begun_offset, last.snapshot_offset):
            tried.add(offset)
            if offset != NO_OFFSET and (found := _read(journal, offset)) is not None:
                yield found
        if last.begun_offset == last.snapshot_offset == NO_OFFSET:
            return
    # Damage: no record can be trusted to name the others.
    begun = [entry.offset for entry in journal.entries(0) if _is_first(entry.offset, entry.head)]
    for offset in reversed(begun):
        if offset not in tried and (found := _read(journal, offset)) is not None:
            yield found


def _read(journal: Journal, begun_offset: int) -> Snapshot | None:
    """None when it is not complete, or a part of it cannot be read."""
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
