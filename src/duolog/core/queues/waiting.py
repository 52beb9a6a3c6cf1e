"""What the delivery machine asks of the messages that wait, and of the order they wait in.

A *fresh* message was never received; a *returned* one was, and is visible again. Fresh ones
are too many to be kept one by one; returned ones also have a Held of their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from duolog.core.queues.held import Held
from duolog.records.delivery_image import Image


class Waiting(Protocol):
    def add_range(self, first: int, next_offset: int) -> None:
        """Fresh messages without a group, past all others."""

    def add(self, offset: int, group: bytes | None, sent_ms: int) -> None:
        """A fresh message, past all others."""

    def add_delayed(self, offset: int, group: bytes | None) -> None:
        """A message that is fresh once it is due, past all others."""

    def mature(self, pieces: Sequence[tuple[int, int]], now_ms: int) -> None:
        """Delayed messages are due."""

    def discard_delayed(self, offset: int) -> None:
        """A delayed message is done before it was due."""

    def replay(
        self, pieces: Sequence[tuple[int, int]], groups: Mapping[int, bytes], now_ms: int
    ) -> None:
        """Messages that were done are fresh again; those in `groups` have one."""

    def choose(self, count: int, now_ms: int) -> Sequence[int]:
        """The messages to give out next."""

    def deliver(self, offset: int, now_ms: int) -> bytes | None:
        """A fresh message goes in flight; returns its group. KeyError when it is not fresh."""

    def redeliver(self, offset: int, held: Held, now_ms: int) -> None:
        """A returned message goes in flight again."""

    def give_back(self, offset: int, held: Held, now_ms: int) -> None:
        """A message in flight is visible again."""

    def settle(self, held: Held, now_ms: int) -> None:
        """A message in flight is done or dead."""

    def restore(self, offset: int, held: Held) -> None:
        """A dead message is visible again."""

    def discard(self, offset: int) -> bool:
        """A fresh message is done; False when it is not fresh."""

    def discard_returned(self, offset: int, held: Held) -> None:
        """A returned message is done or dead."""

    def trim(self, before_offset: int) -> int:
        """Fresh and delayed messages below are done; returns how many were fresh."""

    def truncate(self, end_offset: int) -> int:
        """Fresh and delayed messages from here on were never sent; returns how many were fresh."""

    def is_fresh(self, offset: int) -> bool: ...

    def first_fresh(self) -> int | None: ...

    def fresh_pieces(self, from_offset: int) -> Iterator[tuple[int, int]]:
        """Ranges of fresh messages, ascending."""

    def save(self, image: Image) -> None:
        """Writes down all that waits."""

    def load(self, image: Image, held: Mapping[int, Held]) -> None:
        """Takes over what was written down. ValueError when it contradicts itself."""
