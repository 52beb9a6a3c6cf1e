"""Waiting messages and their order, as the delivery machine uses them.

A *fresh* message was never received; a *returned* one was, and is visible again. Fresh ones are too
many to be kept one by one; returned ones also have a Held of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from duolog.core.queues.held import Held
from duolog.records.delivery_image import Image


class Waiting(Protocol):
    def add_range(self, first: int, next_offset: int) -> None:
        """Adds fresh messages without a group, past all others."""

    def add(self, offset: int, group: bytes | None, sent_ms: int) -> None:
        """Adds a fresh message, past all others."""

    def add_delayed(self, offset: int, group: bytes | None) -> None:
        """Adds a message that is fresh once it is due, past all others."""

    def mature(self, pieces: Sequence[tuple[int, int]], now_ms: int) -> None:
        """Makes delayed messages fresh, because they are due."""

    def discard_delayed(self, offset: int) -> None:
        """Drops a delayed message that is done before it was due."""

    def replay(
        self, pieces: Sequence[tuple[int, int]], groups: Mapping[int, bytes], now_ms: int
    ) -> None:
        """Makes done messages fresh again; those in `groups` have one."""

    def choose(self, count: int, now_ms: int) -> Sequence[int]:
        """The messages to deliver next."""

    def deliver(self, offset: int, now_ms: int) -> bytes | None:
        """Takes a fresh message, now in flight; returns its group. Raises KeyError if it is not
        fresh."""

    def redeliver(self, offset: int, held: Held, now_ms: int) -> None:
        """Takes a returned message, now in flight again."""

    def give_back(self, offset: int, held: Held, now_ms: int) -> None:
        """Takes back a message in flight: it is visible again."""

    def settle(self, held: Held, now_ms: int) -> None:
        """Notes that a message in flight is done or dead."""

    def restore(self, offset: int, held: Held) -> None:
        """Takes back a dead message: it is visible again."""

    def discard(self, offset: int) -> bool:
        """Drops a fresh message that is done; False if it is not fresh."""

    def discard_returned(self, offset: int, held: Held) -> None:
        """Drops a returned message that is done or dead."""

    def trim(self, before_offset: int) -> int:
        """Drops fresh and delayed messages below the offset; returns how many were fresh."""

    def truncate(self, end_offset: int) -> int:
        """Drops messages from here on, which were never sent; returns how many were fresh."""

    def is_fresh(self, offset: int) -> bool: ...

    def first_fresh(self) -> int | None: ...

    def fresh_pieces(self, from_offset: int) -> Iterator[tuple[int, int]]:
        """Ranges of fresh messages, ascending."""

    def save(self, image: Image) -> None:
        """Saves all waiting messages to the snapshot."""

    def load(self, image: Image, held: Mapping[int, Held]) -> None:
        """Restores from a snapshot; raises ValueError if it contradicts itself."""
