"""Events for operators: what the controller did, and why."""

import msgspec


class Event(msgspec.Struct, frozen=True):
    time_ms: int
    kind: str
    """Short name of what happened, from a fixed set: `leader moved`, `node lost`."""
    subject: str
    """Node or partition concerned: `node 3`, `orders-7`."""
    text: str
    """One sentence: why, and what an operator should do if anything."""
