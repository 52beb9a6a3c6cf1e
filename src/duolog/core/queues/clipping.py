"""Restricts a journal change to the messages below an offset. Pure."""

from collections.abc import Sequence

from duolog.records.changes import (
    Change,
    Deleted,
    Delivered,
    Replayed,
    Trimmed,
    VisibilityChanged,
)


def clip(change: Change, end_offset: int) -> Change | None:
    """The change for messages below `end_offset` alone; None if nothing is left of it."""
    match change:
        case Delivered(offsets):
            kept = _below(offsets, end_offset)
            return change._replace(offsets=kept) if kept else None
        case Deleted(offsets):
            kept = _below(offsets, end_offset)
            return change._replace(offsets=kept) if kept else None
        case VisibilityChanged(offset):
            return change if offset < end_offset else None
        case Trimmed(before_offset):
            return change._replace(before_offset=min(before_offset, end_offset))
        case Replayed():
            if change.first_offset >= end_offset:
                return None
            groups = tuple((group, _below(offsets, end_offset)) for group, offsets in change.groups)
            return change._replace(
                next_offset=min(change.next_offset, end_offset),
                groups=tuple((group, offsets) for group, offsets in groups if offsets),
            )


def _below(offsets: Sequence[int], end_offset: int) -> tuple[int, ...]:
    return tuple(offset for offset in offsets if offset < end_offset)
