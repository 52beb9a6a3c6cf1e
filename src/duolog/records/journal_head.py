"""Key of a record in a queue's journal. Pure: no clock, no IO.

The value is either changes of the delivery state or a piece of a snapshot of it. The key tells
which messages the writer knew, so that a decision about a message is never applied to another one
that got its offset later; and where the newest snapshots are, so that the last record of a journal
is enough to find them.
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple

NO_OFFSET = -1

_CHANGES, _PIECE = 1, 2
_HEAD = Struct(">Biqqq")
_PIECE_HEAD = Struct(">Biqqqii")


class JournalHead(NamedTuple):
    epoch: int
    """Leader epoch of the messages' partition; messages that a later leader wrote are not meant."""
    known_offset: int
    """Offset below which all messages lie that the record is about."""
    snapshot_offset: int
    """Journal offset of the newest snapshot that is complete, committed and durable."""
    begun_offset: int
    """Journal offset of a later snapshot, possibly incomplete, uncommitted or not durable."""
    piece: int = 0
    pieces: int = 0
    """Number of pieces of the snapshot that begins at `begun_offset`; 0 in a record of changes."""


def encode_head(head: JournalHead) -> bytes:
    epoch, known_offset, snapshot_offset, begun_offset, piece, pieces = head
    if pieces:
        return _PIECE_HEAD.pack(
            _PIECE, epoch, known_offset, snapshot_offset, begun_offset, piece, pieces
        )
    return _HEAD.pack(_CHANGES, epoch, known_offset, snapshot_offset, begun_offset)


def decode_head(key: bytes | None) -> JournalHead:
    """Decodes a key; raises ValueError for anything else."""
    try:
        match key[0] if key else None:
            case 1:
                return JournalHead(*_HEAD.unpack(key or b"")[1:])
            case 2:
                return JournalHead(*_PIECE_HEAD.unpack(key or b"")[1:])
            case kind:
                raise ValueError(f"there is no journal record of kind {kind}")
    except StructError as error:
        raise ValueError(f"the key of a journal record is cut short: {error}") from error
