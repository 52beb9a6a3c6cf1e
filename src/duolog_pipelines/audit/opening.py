"""Where the audit of a queue's partition begins: what was not done when its journal begins.

A journal that was cut begins with a snapshot of the delivery state. Messages that were done by
then are in no account any more; those that were not are the opening balance.
"""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.records.delivery_image import decode_image, undone_ranges
from duolog.records.journal_head import decode_head


class Opening(NamedTuple):
    journal_offset: int
    """Changes from here on are not in it."""
    ranges: list[tuple[int, int]]
    """Messages that were not done, as ranges of offsets."""
    end_offset: int
    """Messages from here on came later."""
    since_ms: int | None
    """None where the journal tells everything from the start."""


WHOLE = Opening(0, [], 0, None)


class JournalRecord(NamedTuple):
    offset: int
    time_ms: int
    key: bytes | None
    value: bytes


def opening_of(records: Iterable[JournalRecord]) -> Opening | None:
    """By the first snapshot that is whole; None where there is none. Pure.

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
