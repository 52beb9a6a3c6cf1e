"""Codec for changes of a queue's delivery state, as stored in the queue's journal.

A change has everything that recovery needs: the machine in core/queues/delivery.py reads no clock
and no messages when it applies one. Changes that end messages also give a cause, which only audits
read.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from struct import Struct, pack, unpack_from
from struct import error as StructError
from typing import Any, NamedTuple, TypeAlias


class Cause(IntEnum):
    """Reason why messages are done. The numbers are in stored records, and never change."""

    CONSUMED = 0
    """Deleted by the consumer that had received it."""
    HANDED_OUT = 1
    """Deleted as it was received, from an at-most-once queue."""
    DEAD_LETTER = 2
    """Received too often, and moved to the dead-letter queue."""
    MOVED = 3
    """Moved to another queue on request."""
    UNREADABLE = 4
    """Damaged, or missing in the middle of the log."""
    EXPIRED = 5
    """Older than the queue's retention."""
    PURGED = 6
    REMOVED = 7
    """Removed from its topic: by DeleteRecords, or by the topic's own retention."""


class Delivered(NamedTuple):
    """Messages were delivered to a consumer, and are hidden until the deadline."""

    offsets: Sequence[int]
    now_ms: int
    deadline_ms: int
    attempt: bytes = b""
    """Attempt id by which the consumer can repeat this receive; empty for none."""


class Deleted(NamedTuple):
    """Messages are done: deleted by a consumer, moved to another queue, or unreadable."""

    offsets: Sequence[int]
    cause: int = Cause.CONSUMED


class VisibilityChanged(NamedTuple):
    """A received message is hidden until another deadline; one that has passed makes it visible."""

    offset: int
    deadline_ms: int


class Trimmed(NamedTuple):
    """Everything below is done: the queue was purged, or its retention has passed."""

    before_offset: int
    cause: int = Cause.EXPIRED


class Replayed(NamedTuple):
    """Done messages in a range are delivered again, as if they had never been received."""

    first_offset: int
    next_offset: int
    now_ms: int
    """Time from which retention counts anew: replayed messages are usually past it already."""
    groups: tuple[tuple[bytes, tuple[int, ...]], ...] = ()
    """Offsets of messages with a group, by group. The state forgets a done message's group, so the
    change has to carry it."""


Change: TypeAlias = Delivered | Deleted | VisibilityChanged | Trimmed | Replayed

_DELIVERED, _DELETED, _VISIBILITY_CHANGED, _TRIMMED, _REPLAYED = range(1, 6)

_DELIVERED_HEAD = Struct(">BHIqq")
_DELIVERED_ONE = Struct(">BHIqqq").pack
_DELETED_HEAD = Struct(">BBI")
_DELETED_ONE = Struct(">BBIq").pack
_VISIBILITY = Struct(">Bqq")
_TRIMMED_WHOLE = Struct(">BqB")
_REPLAYED_HEAD = Struct(">BqqqI")
_GROUP_HEAD = Struct(">HI")


def encode_change(change: Change) -> bytes:
    # A table by type, which is faster than matching: two of three requests write a change.
    return _WRITERS[type(change)](change)


def _write_delivered(change: Delivered) -> bytes:
    offsets, now_ms, deadline_ms, attempt = change
    count, length = len(offsets), len(attempt)
    if count == 1:
        return _DELIVERED_ONE(_DELIVERED, length, 1, now_ms, deadline_ms, offsets[0]) + attempt
    head = _DELIVERED_HEAD.pack(_DELIVERED, length, count, now_ms, deadline_ms)
    return head + pack(f">{count}q", *offsets) + attempt


def _write_deleted(change: Deleted) -> bytes:
    offsets, cause = change
    count = len(offsets)
    if count == 1:
        return _DELETED_ONE(_DELETED, cause, 1, offsets[0])
    return _DELETED_HEAD.pack(_DELETED, cause, count) + pack(f">{count}q", *offsets)


def _write_visibility(change: VisibilityChanged) -> bytes:
    return _VISIBILITY.pack(_VISIBILITY_CHANGED, *change)


def _write_trimmed(change: Trimmed) -> bytes:
    return _TRIMMED_WHOLE.pack(_TRIMMED, *change)


def _write_replayed(change: Replayed) -> bytes:
    first_offset, next_offset, now_ms, groups = change
    parts = [_REPLAYED_HEAD.pack(_REPLAYED, first_offset, next_offset, now_ms, len(groups))]
    for group, offsets in groups:
        parts += (
            _GROUP_HEAD.pack(len(group), len(offsets)),
            group,
            pack(f">{len(offsets)}q", *offsets),
        )
    return b"".join(parts)


_WRITERS: dict[type, Callable[[Any], bytes]] = {
    Delivered: _write_delivered,
    Deleted: _write_deleted,
    VisibilityChanged: _write_visibility,
    Trimmed: _write_trimmed,
    Replayed: _write_replayed,
}


def decode_changes(data: bytes) -> Iterator[Change]:
    """Decodes changes that were written one after another; raises ValueError for anything else.

    Nothing is yielded before everything is read, so that damage is never half applied.
    """
    changes: list[Change] = []
    at = 0
    try:
        while at < len(data):
            change, at = _READERS[data[at]](data, at)
            changes.append(change)
    except StructError as error:
        raise ValueError(f"a change is cut short: {error}") from error
    except KeyError as error:
        raise ValueError(f"there is no change of kind {error}") from error
    return iter(changes)


def _read_delivered(data: bytes, at: int) -> tuple[Change, int]:
    _, attempt_length, count, now_ms, deadline_ms = _DELIVERED_HEAD.unpack_from(data, at)
    offsets, at = _read_offsets(data, at + _DELIVERED_HEAD.size, count)
    attempt, at = _read_bytes(data, at, attempt_length)
    return Delivered(offsets, now_ms, deadline_ms, attempt), at


def _read_deleted(data: bytes, at: int) -> tuple[Change, int]:
    _, cause, count = _DELETED_HEAD.unpack_from(data, at)
    offsets, at = _read_offsets(data, at + _DELETED_HEAD.size, count)
    return Deleted(offsets, cause), at


def _read_visibility(data: bytes, at: int) -> tuple[Change, int]:
    _, offset, deadline_ms = _VISIBILITY.unpack_from(data, at)
    return VisibilityChanged(offset, deadline_ms), at + _VISIBILITY.size


def _read_trimmed(data: bytes, at: int) -> tuple[Change, int]:
    _, before_offset, cause = _TRIMMED_WHOLE.unpack_from(data, at)
    return Trimmed(before_offset, cause), at + _TRIMMED_WHOLE.size


def _read_replayed(data: bytes, at: int) -> tuple[Change, int]:
    _, first_offset, next_offset, now_ms, count = _REPLAYED_HEAD.unpack_from(data, at)
    at += _REPLAYED_HEAD.size
    groups = []
    for _ in range(count):
        length, offset_count = _GROUP_HEAD.unpack_from(data, at)
        group, at = _read_bytes(data, at + _GROUP_HEAD.size, length)
        offsets, at = _read_offsets(data, at, offset_count)
        groups.append((group, offsets))
    return Replayed(first_offset, next_offset, now_ms, tuple(groups)), at


_READERS = {
    _DELIVERED: _read_delivered,
    _DELETED: _read_deleted,
    _VISIBILITY_CHANGED: _read_visibility,
    _TRIMMED: _read_trimmed,
    _REPLAYED: _read_replayed,
}


def _read_offsets(data: bytes, at: int, count: int) -> tuple[tuple[int, ...], int]:
    # Trusted only as far as there are bytes for it: the count may be damaged, too.
    if count > (len(data) - at) // 8:
        raise ValueError(f"{count} offsets announced, {len(data) - at} bytes left")
    return unpack_from(f">{count}q", data, at), at + 8 * count


def _read_bytes(data: bytes, at: int, length: int) -> tuple[bytes, int]:
    if length > len(data) - at:
        raise ValueError(f"{length} bytes announced, {len(data) - at} left")
    return bytes(data[at : at + length]), at + length
