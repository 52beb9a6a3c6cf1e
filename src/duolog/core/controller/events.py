"""What the controller did and why, for an operator to read."""

import msgspec


class Event(msgspec.Struct, frozen=True):
    time_ms: int
    kind: str
    """What happened, in a few words that are the same each time."""
    subject: str
    """Whom it happened to: `node 3`, or a partition as `orders-7`."""
    text: str
    """A sentence: why, and what an operator can do where something is to be done."""
