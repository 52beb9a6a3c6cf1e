"""What was sent and what came back, whichever client did it."""

from typing import NamedTuple


class Message(NamedTuple):
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = -1
    """Milliseconds since 1970."""


class Seen(NamedTuple):
    """A message that was read, and where."""

    partition: int
    offset: int
    message: Message
