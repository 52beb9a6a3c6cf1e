"""A pending receive, from the request to its answer, and the received messages."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, overload

import msgspec

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.message import Message, plain_message
from duolog.model.errors import Refusal


class Received(msgspec.Struct, frozen=True, gc=False):
    message_id: str
    receipt_handle: str
    message: Message
    body_md5: str
    receive_count: int
    first_received_ms: int
    sequence_number: str | None


class ReceivedRun(Sequence[Received]):
    """Consecutive messages with only a body, delivered for the first time, as most are. Stored in
    columns, because encoding an answer from columns needs no object per message."""

    __slots__ = ("bodies", "body_md5s", "message_ids", "receipt_handles", "received_ms", "sent_ms")

    def __init__(
        self,
        message_ids: Sequence[str],
        receipt_handles: Sequence[str],
        body_md5s: Sequence[str],
        bodies: Sequence[bytes],
        sent_ms: Sequence[int],
        received_ms: int,
    ) -> None:
        self.message_ids = message_ids
        self.receipt_handles = receipt_handles
        self.body_md5s = body_md5s
        self.bodies = bodies
        """Bodies as stored, in UTF-8."""
        self.sent_ms = sent_ms
        self.received_ms = received_ms

    def __len__(self) -> int:
        return len(self.message_ids)

    @overload
    def __getitem__(self, place: int) -> Received: ...
    @overload
    def __getitem__(self, place: slice) -> "ReceivedRun": ...
    def __getitem__(self, place: int | slice) -> "Received | ReceivedRun":
        if isinstance(place, slice):
            return ReceivedRun(
                self.message_ids[place],
                self.receipt_handles[place],
                self.body_md5s[place],
                self.bodies[place],
                self.sent_ms[place],
                self.received_ms,
            )
        return Received(
            self.message_ids[place],
            self.receipt_handles[place],
            plain_message(self.bodies[place], self.sent_ms[place]),
            self.body_md5s[place],
            1,
            self.received_ms,
            None,
        )

    def __iter__(self) -> Iterator[Received]:
        return map(self.__getitem__, range(len(self)))


class Asker(Protocol):
    """Gets the results of receives, which it tells apart by tokens."""

    def received(self, token: Any, result: Sequence[Received] | Refusal) -> None: ...

    def received_together(
        self, tokens: Sequence[Any], found: Sequence[Received], counts: Sequence[int]
    ) -> None:
        """Takes results of receives served together; token i gets the next `counts[i]` messages."""
        ...

    def gone(self, tokens: Sequence[Any]) -> Collection[Any]:
        """Tokens among these whose clients have gone."""
        ...

    def waits(self, token: Any, abandon: Callable[[], None]) -> None:
        """Called for a receive that must wait; `abandon` is to be called if its client goes."""
        ...


class Receive(msgspec.Struct, eq=False):
    """One receive request, parked while there are no messages.

    Is itself the Waiter for the journal, which saves an object per request.
    """

    count: int
    visibility_ms: int
    attempt: bytes
    done: Callable[[Sequence[Received] | Refusal], None]
    on_settled: Callable[["Receive", Refusal | None], None]
    """Called once the deliveries are committed, or have failed."""
    bytes_left: int | None = None
    """Remaining bytes of the answer, None if unlimited; a first message always fits."""
    is_abandoned: bool = False
    on_abandoned: Callable[["Receive"], None] | None = None
    """Removes a parked request from the queue's list."""
    timer: asyncio.TimerHandle | None = None
    """Timer of the long poll, which answers empty."""
    handed_out: list[tuple[QueuePartition, Sequence[int]]] = []
    found: Sequence[Received] = ()

    def settle(self, failure: Refusal | None) -> None:
        self.on_settled(self, failure)

    def answer(self, result: Sequence[Received] | Refusal) -> None:
        if self.timer is not None:
            self.unpark()
        self.done(result)

    def unpark(self) -> None:
        self.on_abandoned = None
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None

    def abandon(self) -> None:
        """Gives up the receive, since its client has gone; its messages go to others."""
        self.is_abandoned = True
        if self.on_abandoned is not None:
            self.on_abandoned(self)
            self.unpark()


class Alike(msgspec.Struct, frozen=True, eq=False):
    """Identical receives of one turn."""

    asker: Asker
    tokens: Sequence[Any]
    count: int
    visibility_ms: int
    attempt: bytes
    wait_ms: int

    def apart(self, token: Any, on_settled: Callable[[Receive, Refusal | None], None]) -> Receive:
        """Makes a Receive of its own for one of them."""
        done = partial(self.asker.received, token)
        return Receive(self.count, self.visibility_ms, self.attempt, done, on_settled)


class ServedTogether:
    """Receives served by one change, and one Waiter for all of them."""

    __slots__ = ("_alike", "_counts", "_found", "_handed_out", "_on_settled")

    def __init__(
        self,
        alike: Alike,
        counts: Sequence[int],
        handed_out: tuple[QueuePartition, Sequence[int]],
        found: Sequence[Received],
        on_settled: Callable[[Receive, Refusal | None], None],
    ) -> None:
        """Takes what was found; the i-th receive gets the next `counts[i]` messages."""
        self._alike = alike
        self._counts = counts
        self._handed_out = handed_out
        self._found = found
        self._on_settled = on_settled

    def settle(self, failure: Refusal | None) -> None:
        counts = self._counts
        asker, tokens = self._alike.asker, self._alike.tokens[: len(counts)]
        gone = asker.gone(tokens)
        if failure is None and not gone:
            asker.received_together(tokens, self._found, counts)
            return
        partition, offsets = self._handed_out
        first = 0
        for token, count in zip(tokens, counts, strict=True):
            own = slice(first, first + count)
            first += count
            receive = self._alike.apart(token, self._on_settled)
            receive.is_abandoned = token in gone
            receive.handed_out.append((partition, offsets[own]))
            receive.found = self._found[own]
            receive.settle(failure)
