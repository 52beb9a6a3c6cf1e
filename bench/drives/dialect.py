"""What the C clients need to know of a protocol: all that is sent is encoded beforehand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

TAKEN = 1000
"""Messages that a consumer asks for, or acknowledges, at a time."""
MARKER = "~"
"""A byte that is nowhere but once in each message, or in each answer to one."""
STAMP_DIGITS = 16
CONNECTION_NUMBER = "@@@@"
"""Becomes the number of the connection."""


@dataclass(frozen=True, slots=True)
class Talk:
    """One connection's part: what it begins with, and what it then says again and again."""

    hello: bytes
    request: bytes
    framing: Sequence[str]
    """How load.c tells answers apart."""


@dataclass(frozen=True, slots=True)
class Reception:
    """A consumer that is sent each message as soon as it is there."""

    hello: bytes
    more: bytes
    more_every: int
    """Messages after which `more` is said; 0: after each answer."""


class Dialect(Protocol):
    client: str

    def create(self, address: tuple[str, int], name: str) -> None: ...

    def drop(self, address: tuple[str, int], name: str) -> None: ...

    def stored(self, address: tuple[str, int], name: str) -> int | None:
        """Messages that the server has; None where it cannot say at once."""

    def publish(self, name: str, payload: bytes) -> Talk: ...

    def take(self, address: tuple[str, int], name: str) -> Talk:
        """Asks for TAKEN messages each time."""

    def receive(self, address: tuple[str, int], name: str) -> Reception: ...


def payload(size: int) -> bytes:
    """A message with the marker, behind which there is room for a time."""
    return (MARKER + "0" * STAMP_DIGITS).ljust(size, "x").encode()
