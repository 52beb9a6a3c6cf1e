"""A message of a queue, as those who sent, received and deleted it know it."""

from typing import NamedTuple


class Deletion(NamedTuple):
    """One that was acknowledged."""

    receives: int
    """The receive count of the delivery whose receipt was used."""
    at_ns: int
    is_sure: bool
    """Whether nobody else can have received the message before."""


class Stay:
    """What was seen of a message in one queue: the one it was sent to, or that of dead letters."""

    __slots__ = ("deletions", "hidden_until_ns", "latest", "seen")

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        """When the receiver of the delivery with this receive count had it."""
        self.latest = 0
        """The highest of these counts."""
        self.hidden_until_ns = 0
        """Not before then does the latest delivery end by itself."""
        self.deletions: list[Deletion] = []

    def deliver(self, count: int, at_ns: int, hidden_until_ns: int) -> None:
        self.seen[count] = at_ns
        if count >= self.latest:
            self.latest = count
            self.hidden_until_ns = hidden_until_ns

    def went_back(self, count: int, asked_ns: int) -> int | None:
        """The count that is at odds with a delivery by a receive that was sent then."""
        for other, at_ns in self.seen.items():
            if other == count or (other > count and at_ns < asked_ns):
                return other
        return None

    def is_over(self, count: int, asked_ns: int) -> bool:
        """Whether the message was gone by the time of a receive that brought it."""
        for deletion in self.deletions:
            # The very next delivery: there was none in between that made the receipt stale.
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
        """The how manieth of its group."""
        self.due_ns = due_ns
        """Not before then may it be received."""
        self.is_sent = False
        """Whether its sending was acknowledged."""
        self.message_id: str | None = None
        self.may_be_deleted = False
        """Whether somebody has asked for its deletion who may have been heard."""
        self.passed_ns: int | None = None
        """When a later one of its group was received, which is right if this one is dead."""
        self.dead_ns: int | None = None
        """When it was first received as a dead letter."""
        self.stay = Stay()
        self.dead = Stay()
        """As a dead letter."""
