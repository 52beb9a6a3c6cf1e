"""A consumer that asked for messages, until it has its answer."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.message import Message
from duolog.model.errors import Refusal


class Received(msgspec.Struct, frozen=True, gc=False):
    message_id: str
    receipt_handle: str
    message: Message
    body_md5: str
    receive_count: int
    first_received_ms: int
    sequence_number: str | None


class Receive(msgspec.Struct, eq=False):
    """One request for messages: parked while there are none.

    It is itself what waits for the journal, as it has everything that is needed then.
    """

    count: int
    visibility_ms: int
    attempt: bytes
    done: Callable[[list[Received] | Refusal], None]
    on_settled: Callable[["Receive", Refusal | None], None]
    """Told once what was handed out is written down, or that it is not."""
    bytes_left: int | None = None
    """How much more the answer may hold, where that is limited; a message it always may."""
    is_abandoned: bool = False
    on_abandoned: Callable[["Receive"], None] | None = None
    """Takes a parked request out of the queue's list."""
    timer: asyncio.TimerHandle | None = None
    """Answers with nothing when the wait is over."""
    handed_out: list[tuple[QueuePartition, Sequence[int]]] = []
    found: list[Received] = []

    @property
    def is_usual(self) -> bool:
        """Whether nothing sets it apart but how many messages it asks for, and for how long."""
        return not (self.attempt or self.is_abandoned) and self.bytes_left is None

    def settle(self, failure: Refusal | None) -> None:
        self.on_settled(self, failure)

    def answer(self, result: list[Received] | Refusal) -> None:
        if self.timer is not None:
            self.unpark()
        self.done(result)

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


class ReceivesTogether:
    """Those that the same change serves. They wait for the journal as one."""

    __slots__ = ("_receives",)

    def __init__(self, receives: Sequence[Receive]) -> None:
        self._receives = receives

    def settle(self, failure: Refusal | None) -> None:
        for receive in self._receives:
            if failure is None and not receive.is_abandoned:
                receive.done(receive.found)
            else:
                receive.on_settled(receive, failure)
