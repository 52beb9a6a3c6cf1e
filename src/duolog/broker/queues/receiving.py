"""A consumer that asked for messages, until it has its answer."""

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
    """Messages that lie one behind the other, have a body and nothing else, and that nobody had
    before, as most are: in columns, because whoever answers with them needs no object of each."""

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
        """As they are stored."""
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
    """Who is told what receives have come to; several may be its, told apart by a token."""

    def received(self, token: Any, result: Sequence[Received] | Refusal) -> None: ...

    def received_together(
        self, tokens: Sequence[Any], found: Sequence[Received], counts: Sequence[int]
    ) -> None:
        """The same of several that were served together, each with the next so many."""
        ...

    def gone(self, tokens: Sequence[Any]) -> Collection[Any]:
        """Those of them that nobody wants an answer to any more."""
        ...

    def waits(self, token: Any, abandon: Callable[[], None]) -> None:
        """It has to; what is to be called when nobody wants an answer to it any more."""
        ...


class Receive(msgspec.Struct, eq=False):
    """One request for messages: parked while there are none.

    It is itself what waits for the journal, as it has everything that is needed then.
    """

    count: int
    visibility_ms: int
    attempt: bytes
    done: Callable[[Sequence[Received] | Refusal], None]
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
        """The client has gone. What it was about to get goes to others."""
        self.is_abandoned = True
        if self.on_abandoned is not None:
            self.on_abandoned(self)
            self.unpark()


class Alike(msgspec.Struct, frozen=True, eq=False):
    """Receives of a turn that ask for the same."""

    asker: Asker
    tokens: Sequence[Any]
    count: int
    visibility_ms: int
    attempt: bytes
    wait_ms: int

    def apart(self, token: Any, on_settled: Callable[[Receive, Refusal | None], None]) -> Receive:
        """One of them, which goes its own way from here."""
        done = partial(self.asker.received, token)
        return Receive(self.count, self.visibility_ms, self.attempt, done, on_settled)


class ServedTogether:
    """Receives that the same change serves. They wait for the journal as one."""

    __slots__ = ("_alike", "_counts", "_found", "_handed_out", "_on_settled")

    def __init__(
        self,
        alike: Alike,
        counts: Sequence[int],
        handed_out: tuple[QueuePartition, Sequence[int]],
        found: Sequence[Received],
        on_settled: Callable[[Receive, Refusal | None], None],
    ) -> None:
        """Each of the first of them gets the next so many of what was found."""
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
