"""A consumer that asked for messages, until it has its answer."""

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.message import Message
from duolog.model.errors import Refusal


class Received(NamedTuple):
    message_id: str
    receipt_handle: str
    message: Message
    receive_count: int
    first_received_ms: int
    sequence_number: str | None


class Receive:
    """One request for messages: parked while there are none."""

    __slots__ = (
        "_done",
        "attempt",
        "count",
        "handed_out",
        "is_abandoned",
        "on_abandoned",
        "timer",
        "visibility_ms",
    )

    def __init__(
        self,
        count: int,
        visibility_ms: int,
        attempt: bytes,
        done: Callable[[list[Received] | Refusal], None],
    ) -> None:
        self.count = count
        self.visibility_ms = visibility_ms
        self.attempt = attempt
        self._done = done
        self.is_abandoned = False
        self.on_abandoned: Callable[[Receive], None] | None = None
        """Takes a parked request out of the queue's list."""
        self.timer: asyncio.TimerHandle | None = None
        """Answers with nothing when the wait is over."""
        self.handed_out: list[tuple[QueuePartition, Sequence[int]]] = []

    def answer(self, result: list[Received] | Refusal) -> None:
        self.unpark()
        self._done(result)

    def unpark(self) -> None:
        self.on_abandoned = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def abandon(self) -> None:
        """The client has gone. What it was about to get goes to others."""
        self.is_abandoned = True
        if self.on_abandoned is not None:
            self.on_abandoned(self)
            self.unpark()
