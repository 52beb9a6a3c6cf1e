"""A message that was received and is not done: what the machine knows of it."""

from array import array
from collections.abc import Mapping

from duolog.core.queues.image import Image, from_column, to_column


class Held:
    """Read it, but leave it alone: it changes only with the machine that it belongs to."""

    __slots__ = (
        "attempt",
        "deadline_ms",
        "first_received_ms",
        "group",
        "is_dead",
        "is_in_flight",
        "receive_count",
        "received_ms",
    )

    def __init__(
        self, deadline_ms: int, received_ms: int, group: bytes | None, attempt: bytes
    ) -> None:
        self.deadline_ms = deadline_ms
        """Until when the newest delivery hides it, or did."""
        self.receive_count = 1
        self.first_received_ms = received_ms
        self.received_ms = received_ms
        """When it was last received: no visibility reaches further than twelve hours from then."""
        self.is_in_flight = True
        self.is_dead = False
        """Received too often, and on its way to the dead-letter queue. Never while in flight."""
        self.group = group
        self.attempt = attempt
        """The name of the receive that has it in flight, if the consumer gave one."""


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


def load_held(image: Image) -> dict[int, Held]:
    held: dict[int, Held] = {}
    columns = (
        from_column(image.held_offsets),
        from_column(image.held_deadlines_ms),
        from_column(image.held_counts),
        from_column(image.held_first_received_ms),
        from_column(image.held_received_ms),
    )
    for offset, deadline_ms, count, first_received_ms, received_ms, state, group in zip(
        *columns, image.held_states, image.held_groups, strict=True
    ):
        row = held[offset] = Held(deadline_ms, first_received_ms, group, b"")
        row.receive_count = count
        row.received_ms = received_ms
        row.is_in_flight = state == _IN_FLIGHT
        row.is_dead = state == _DEAD
    return held
