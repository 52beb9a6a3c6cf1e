"""State of a message that was received and is not done."""

from array import array
from collections.abc import Generator, Mapping

import msgspec

from duolog.records.delivery_image import Image, from_column, to_column


class Held(msgspec.Struct, frozen=True, gc=False, eq=False):
    """State that messages received together share until something happens to one of them.

    A Struct, because there can be a million of them: it is made in a third of the time that a class
    of our own takes, and the garbage collector need not go through them.
    """

    deadline_ms: int
    """End of the newest delivery's visibility time-out; may be past."""
    received_ms: int
    """Time of the last receive, which limits any visibility time-out to twelve hours from then."""
    first_received_ms: int
    group: bytes | None
    attempt: bytes
    """Attempt id of the receive that has it in flight, if the consumer gave one."""
    receive_count: int = 1
    is_in_flight: bool = True
    is_dead: bool = False
    """True if received too often and due for the dead-letter queue; never while in flight."""


ROWS_PER_STEP = 256
"""Messages restored in one step, within half a millisecond."""

_IN_FLIGHT, _RETURNED, _DEAD = range(3)


def save_held(image: Image, held: Mapping[int, Held]) -> None:
    offsets = sorted(held)
    rows = [held[offset] for offset in offsets]
    image.held_offsets = to_column(array("q", offsets))
    image.held_deadlines_ms = to_column(array("q", (row.deadline_ms for row in rows)))
    image.held_counts = to_column(array("q", (row.receive_count for row in rows)))
    image.held_first_received_ms = to_column(array("q", (row.first_received_ms for row in rows)))
    image.held_received_ms = to_column(array("q", (row.received_ms for row in rows)))
    image.held_states = bytes(
        _IN_FLIGHT if row.is_in_flight else _DEAD if row.is_dead else _RETURNED for row in rows
    )
    image.held_groups = [row.group for row in rows]


def loading_held(image: Image, held: dict[int, Held]) -> Generator[None, None, None]:
    """Restores the messages of a snapshot, step by step."""
    columns = (
        from_column(image.held_offsets),
        from_column(image.held_deadlines_ms),
        from_column(image.held_counts),
        from_column(image.held_first_received_ms),
        from_column(image.held_received_ms),
    )
    rows = zip(*columns, image.held_states, image.held_groups, strict=True)
    for number, row in enumerate(rows):
        if number % ROWS_PER_STEP == 0:
            yield
        offset, deadline_ms, count, first_received_ms, received_ms, state, group = row
        held[offset] = Held(
            deadline_ms,
            received_ms,
            first_received_ms,
            group,
            b"",
            count,
            state == _IN_FLIGHT,
            state == _DEAD,
        )
