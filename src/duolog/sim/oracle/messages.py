"""A message of a queue, as its sender and its receivers know it."""

from typing import NamedTuple


class Deletion(NamedTuple):
    """An acknowledged deletion."""

    receives: int
    """The receive count of the delivery whose receipt was used."""
    at_ns: int
    is_sure: bool
    """True if nobody else can have received the message between that delivery and its deletion."""


class Stay:
    """Deliveries and deletions of a message in one queue: its own, or that of dead letters."""

    __slots__ = ("deletions", "hidden_until_ns", "latest", "seen")

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        """Receive count of each delivery → time at which its receiver had it."""
        self.latest = 0
        """The highest receive count seen."""
        self.hidden_until_ns = 0
        """Earliest time at which the latest delivery's visibility timeout may run out."""
        self.deletions: list[Deletion] = []

    def deliver(self, count: int, at_ns: int, hidden_until_ns: int) -> None:
        self.seen[count] = at_ns
        if count >= self.latest:
            self.latest = count
            self.hidden_until_ns = hidden_until_ns

    def went_back(self, count: int, asked_ns: int) -> int | None:
        """Return a receive count seen that contradicts a delivery asked for at `asked_ns`, if
        any."""
        for other, at_ns in self.seen.items():
            if other == count or (other > count and at_ns < asked_ns):
                return other
        return None

    def is_over(self, count: int, asked_ns: int) -> bool:
        """True if the message was deleted before the receive that brought it was asked for."""
        for deletion in self.deletions:
            # The very next delivery after that of the receipt: no other one can have made it stale.
            is_next = count == deletion.receives + 1
            if deletion.at_ns < asked_ns and (deletion.is_sure or is_next):
                return True
        return False


class Message:
    __slots__ = (
        "dead",
        "dead_ns",
        "due_ns",
        "group",
        "is_sent",
        "may_be_deleted",
        "message_id",
        "number",
        "passed_ns",
        "stay",
    )

    def __init__(self, group: str, number: int, due_ns: int) -> None:
        self.group = group
        self.number = number
        """Position within its group, counted from 0."""
        self.due_ns = due_ns
        """Earliest time at which it may be received; later than its sending if it is delayed."""
        self.is_sent = False
        """True once its sending was acknowledged."""
        self.message_id: str | None = None
        self.may_be_deleted = False
        """True once a deletion was asked for that may have taken effect."""
        self.passed_ns: int | None = None
        """When a later message of its group was received, which is right only if this one is
        dead."""
        self.dead_ns: int | None = None
        """When it was first received as a dead letter."""
        self.stay = Stay()
        self.dead = Stay()
        """Its stay among the dead letters."""
