"""Snapshots of the delivery state, as records in the journal, so that all replicas have them.

A snapshot holds the state as of its first piece; changes written between the pieces apply after
it. It is valid once complete: a leader opens a partition only when all of its journal is
committed. Two are kept, because one may turn out to be damaged.

The pieces of a FIFO queue are followed by its deduplication keys, which count on as pieces do
beyond the number of pieces that each names: a node that does not know of them reads the image and
stops. Without them, or if one is of an unknown version, the last minutes of messages are read.
"""

from collections.abc import Generator, Iterator
from typing import NamedTuple

from duolog.broker.admission import at_once
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.progress import Tail
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.records.deduplication_image import (
    KeyTable,
    SavedKeys,
    decode_saved_keys,
    encode_saved_keys,
)
from duolog.records.journal_head import NO_OFFSET, JournalHead

PIECE_BYTES = 1 << 20
"""Size of a snapshot's pieces; others are served between them."""

log = get_logger("queues")


class SnapshotWriting:
    """A snapshot being written to the journal."""

    __slots__ = (
        "_image",
        "_journal",
        "_keys",
        "_pieces",
        "_scope",
        "_written",
        "begun_offset",
        "end_offset",
        "size",
        "tail",
    )

    def __init__(
        self,
        journal: Journal,
        image: bytes,
        keys: Iterator[KeyTable] | None = None,
        scope: str = "",
    ) -> None:
        """Prepares to write an image, and deduplication keys of this scope if there are any."""
        self._journal = journal
        self._image = image
        self._pieces = max(1, -(-len(image) // PIECE_BYTES))
        self._keys = keys
        self._scope = scope
        self._written = 0
        self.size = len(image)
        self.begun_offset = NO_OFFSET
        self.end_offset = NO_OFFSET
        """Offset after the last piece; NO_OFFSET until that is written."""
        self.tail = Tail()
        """What this snapshot spares the next leader, and does not if it fails."""

    @classmethod
    def of(cls, partition: QueuePartition) -> "SnapshotWriting":
        """Prepares to write the state of a partition, all of whose changes are written."""
        journal, delivery = partition.journal, partition.delivery
        assert journal is not None
        keys = None
        if delivery.rules.fifo:
            # Of later messages it is not certain yet that they stay; their keys are read again.
            keys = partition.deduplication.save(delivery.end_offset)
        writing = cls(journal, delivery.snapshot(), keys, partition.progress.scope)
        writing.tail = partition.tail
        return writing

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
        is_last, content = self._next()
        self._journal.append_piece(content, self._written, self._pieces)
        if not self._written:
            self.begun_offset = self._journal.begun_offset
        self._written += 1
        if is_last:
            self.end_offset = self._journal.partition.log.end_offset
            self._image = b""

    def _next(self) -> tuple[bool, bytes]:
        """The next piece, and whether it is the last one."""
        first = self._written * PIECE_BYTES
        if self._written < self._pieces:
            is_last = self._keys is None and self._written == self._pieces - 1
            return is_last, self._image[first : first + PIECE_BYTES]
        assert self._keys is not None
        table = next(self._keys, None)
        content = encode_saved_keys(SavedKeys(self._scope, table))
        self.size += len(content)
        return table is None, content

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
    keys: list[SavedKeys] | None = None
    """Deduplication keys; None if they are not there, or cannot be read."""

    @property
    def size(self) -> int:
        tables = [each.table for each in self.keys or () if each.table is not None]
        return len(self.image) + sum(len(table.keys) + len(table.offsets) for table in tables)


def snapshots(journal: Journal) -> Iterator[Snapshot]:
    """Yields complete snapshots, newest first."""
    return (found for found in searching(journal, with_keys=True) if found is not None)


def searching(journal: Journal, *, with_keys: bool) -> Iterator[Snapshot | None]:
    """Yields complete snapshots, newest first, and None at places where the reader may rest."""
    tried = set()
    last = journal.last_head()
    if last is not None:
        for offset in (last.begun_offset, last.snapshot_offset):
            tried.add(offset)
            if offset != NO_OFFSET:
                found = yield from _reading(journal, offset, with_keys)
                if found is not None:
                    yield found
        if last.begun_offset == last.snapshot_offset == NO_OFFSET:
            return
    # Damage: the last record does not lead to a good snapshot, so look at all records.
    begun = []
    for entry in journal.entries(0):
        yield None
        if _is_first(entry.offset, entry.head):
            begun.append(entry.offset)
    for offset in reversed(begun):
        if offset not in tried:
            found = yield from _reading(journal, offset, with_keys)
            if found is not None:
                yield found


def newest_offset(journal: Journal) -> int:
    """First offset of the newest complete snapshot that the last record names; NO_OFFSET if there
    is none."""
    last = journal.last_head()
    for offset in () if last is None else (last.begun_offset, last.snapshot_offset):
        if offset != NO_OFFSET and at_once(_reading(journal, offset, with_keys=False)) is not None:
            return offset
    return NO_OFFSET


def _reading(
    journal: Journal, begun_offset: int, with_keys: bool
) -> Generator[None, None, Snapshot | None]:
    """Reads the snapshot that begins at the offset; None if it is incomplete or unreadable."""
    pieces: list[bytes] = []
    if not journal.partition.log.start_offset <= begun_offset:
        return None
    for offset, head, content in journal.entries(begun_offset):
        yield
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
            keys = None
            if with_keys:
                keys = yield from _reading_keys(journal, offset + 1, begun_offset, head.pieces)
            return Snapshot(begun_offset, first, b"".join(pieces), keys)
    return None


def _reading_keys(
    journal: Journal, from_offset: int, begun_offset: int, pieces: int
) -> Generator[None, None, list[SavedKeys] | None]:
    """Reads the deduplication keys that follow an image; None if they are not all there."""
    keys: list[SavedKeys] = []
    for _, head, content in journal.entries(from_offset):
        yield
        if head.begun_offset != begun_offset:
            # Another snapshot was begun, or this one given up, or relied upon without keys.
            return None
        if not head.pieces:
            continue
        if head.piece != pieces + len(keys):
            return None
        try:
            saved = decode_saved_keys(content)
        except ValueError as error:
            log.error("saved deduplication keys not used", error=str(error))
            return None
        keys.append(saved)
        if saved.table is None:
            return keys
    return None


def _is_first(offset: int, head: JournalHead) -> bool:
    return head.pieces > 0 and head.piece == 0 and head.begun_offset == offset
