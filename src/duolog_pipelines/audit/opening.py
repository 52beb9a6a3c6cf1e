"""Opening balance of a queue's partition: messages that were not done when its journal begins.

A journal that was cut begins with a snapshot of the delivery state. Messages done by then are in no
account; the others are the opening balance.
"""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.records.delivery_image import decode_image, undone_ranges
from duolog.records.journal_head import decode_head


class Opening(NamedTuple):
    journal_offset: int
    """First journal offset whose changes the snapshot does not contain."""
    ranges: list[tuple[int, int]]
    """Messages that were not done, as half-open ranges of offsets."""
    end_offset: int
    """First message that is younger than the snapshot."""
    since_ms: int | None
    """Time of the snapshot; None if the journal is complete from the start."""


WHOLE = Opening(0, [], 0, None)


class JournalRecord(NamedTuple):
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes


def opening_of(records: Iterable[JournalRecord]) -> Opening | None:
    """Opening from the first complete snapshot; None if there is none. Pure.

    Changes may lie between the pieces of a snapshot, and come after it.
    """
    pieces: list[bytes] = []
    begun = JournalRecord(0, 0, None, b"")
    for record in records:
        head = decode_head(record.key)
        if not head.pieces:
            continue
        if head.piece == 0:
            begun, pieces = record, []
        elif not pieces or head.begun_offset != begun.offset or head.piece != len(pieces):
            pieces = []
            continue
        pieces.append(record.value)
        if len(pieces) == head.pieces:
            image = decode_image(b"".join(pieces))
            return Opening(begun.offset, undone_ranges(image), image.end_offset, begun.time_ms)
    return None
