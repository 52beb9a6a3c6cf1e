"""One open connection to another node: requests out, answers back in any order."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from duolog.model.errors import Refusal
from duolog.ports.peers import PeerUnreachable
from duolog.ports.transport import Transport
from duolog.wire.peer.frames import (
    IN_FLIGHT_MAX,
    OK,
    REFUSED,
    Frame,
    MalformedFrame,
    encode_frame,
    frame_chunks,
)
from duolog.wire.peer.hello import Hello, decode_hello, encode_hello, objection
from duolog.wire.peer.kinds import PeerKind
from duolog.wire.peer.outbox import Outbox
from duolog.wire.peer.receiving import FrameReceiver
from duolog.wire.peer.refusals import decode_refusal

HELLO_CORRELATION = 0


@dataclass(frozen=True, slots=True)
class LinkBounds:
    """Of each connection to another node."""

    in_flight_max: int = IN_FLIGHT_MAX
    """Requests that wait for answers; more wait to be sent."""
    queued_max: int = 4_096
    """Requests that wait to be sent; more are refused."""
    queued_bytes_max: int = 64 << 20
    backlog_bytes_max: int = 8 << 20
    """What the socket has not taken before further requests wait."""
    connect_ms_max: int = 2_000
    """To connect and to shake hands."""
    ping_after_ms: int = 2_000
    """How long a node that owes answers may be silent before it is pinged. If it is silent for
    as long again, the connection is given up."""
    backoff_ms_min: int = 50
    backoff_ms_max: int = 2_000


class PeerCall:
    """A request and where its answer goes."""

    __slots__ = ("answer", "body", "connection", "correlation", "kind")

    def __init__(self, kind: int, body: bytes, answer: asyncio.Future[memoryview]) -> None:
        self.kind = kind
        self.body = body
        self.answer = answer
        self.connection: PeerConnection | None = None
        """Over which it was sent; until then the other node cannot have acted on it."""
        self.correlation = 0


class PeerConnection:
    """A Session. `send` may be called once `opened` is done."""

    def __init__(
        self,
        node: int,
        transport: Transport,
        hello: Hello,
        bounds: LinkBounds,
        *,
        cluster: str | None,
        on_room: Callable[[], None],
        on_closed: "Callable[[PeerConnection], None]",
    ) -> None:
        self._node = node
        self._transport = transport
        self.hello = hello
        """What this side said about itself."""
        self._bounds = bounds
        self._cluster = cluster
        self._on_room = on_room
        self._on_closed = on_closed
        self._loop = asyncio.get_running_loop()
        self._receiver = FrameReceiver()
        self._outbox = Outbox(transport, self._loop.call_soon)
        self._calls: dict[int, PeerCall] = {}
        self._last_correlation = HELLO_CORRELATION
        self._is_retired = False
        self._failure: str | None = None
        self._heard_at = self._loop.time()
        self._pinged_at: float | None = None
        self._watch: asyncio.TimerHandle | None = None
        self.opened: asyncio.Future[str | None] = self._loop.create_future()
        """Done when it is known who is at the other side, or why it cannot be talked to."""
        body = encode_hello(hello)
        self._outbox.add([encode_frame(HELLO_CORRELATION, PeerKind.HELLO, body)])

    @property
    def is_usable(self) -> bool:
        return self._failure is None and not self._is_retired

    @property
    def has_room(self) -> bool:
        return (
            self.is_usable
            and len(self._calls) < self._bounds.in_flight_max
            and self._transport.backlog_bytes < self._bounds.backlog_bytes_max
        )

    def send(self, call: PeerCall) -> None:
        assert self.opened.done()
        assert self.is_usable
        self._last_correlation += 1
        call.correlation = self._last_correlation
        call.connection = self
        self._calls[call.correlation] = call
        self._outbox.add(frame_chunks(call.correlation, call.kind, call.body))
        if self._watch is None:
            self._heard_at = self._loop.time()
            self._watch_again()

    def cancel(self, call: PeerCall) -> None:
        """Its caller does not wait any more."""
        if self._calls.pop(call.correlation, None) is not None and self._failure is None:
            self._outbox.add([encode_frame(call.correlation, PeerKind.CANCEL)])
            self._call_ended()

    def retire(self) -> None:
        """Send nothing more, and close when the last answer is there."""
        self._is_retired = True
        self._call_ended()

    def fail(self, reason: str) -> None:
        """Close now. Requests that were sent have an unknown outcome."""
        if self._failure is None:
            self._failure = reason
            self._transport.abort()

    def get_buffer(self) -> memoryview:
        return self._receiver.get_buffer()

    def received(self, count: int) -> None:
        receiver = self._receiver
        receiver.received(count)
        self._heard_at = self._loop.time()
        self._pinged_at = None
        try:
            while (frame := receiver.next_frame()) is not None:
                if self.opened.done():
                    self._answered(frame)
                else:
                    self._greeted(frame)
                if self._failure is not None:
                    return
        except MalformedFrame as error:
            self.fail(f"sent what is no answer: {error}")

    def drained(self) -> None:
        self._on_room()

    def closed(self) -> None:
        if self._failure is None:
            self._failure = "closed the connection"
        if self._watch is not None:
            self._watch.cancel()
        if not self.opened.done():
            self.opened.set_result(self._failure)
        calls, self._calls = self._calls, {}
        for call in calls.values():
            if not call.answer.done():
                call.answer.set_exception(PeerUnreachable(self._node, self._failure, was_sent=True))
        self._on_closed(self)

    def _greeted(self, frame: Frame) -> None:
        if frame.kind != PeerKind.HELLO or frame.correlation != HELLO_CORRELATION:
            raise MalformedFrame("it does not begin with a hello")
        if frame.status == REFUSED:
            self.fail(f"refuses to talk: {decode_refusal(frame.body)}")
            return
        theirs = decode_hello(frame.body)
        found = objection(
            self.hello, theirs, cluster=self._cluster, identity=self._transport.identity
        )
        if found is None and theirs.node != self._node:
            found = f"node {theirs.node} listens there; check the addresses that both advertise"
        if found is not None:
            self.fail(f"is not whom it should be: {found}")
            return
        self._receiver.trust()
        self.opened.set_result(None)

    def _answered(self, frame: Frame) -> None:
        call = self._calls.pop(frame.correlation, None)
        if call is None:
            # Given up meanwhile, or a ping's answer: there is nobody to tell.
            if frame.correlation > self._last_correlation:
                raise MalformedFrame("an answer to nothing")
            return
        if frame.kind != call.kind or frame.status not in (OK, REFUSED):
            self._calls[frame.correlation] = call
            raise MalformedFrame(f"an answer of kind {frame.kind} with status {frame.status}")
        if frame.status == OK:
            outcome: memoryview | Refusal = frame.body
        else:
            outcome = decode_refusal(frame.body)
        if not call.answer.done():
            if isinstance(outcome, Refusal):
                call.answer.set_exception(outcome)
            else:
                call.answer.set_result(outcome)
        self._call_ended()

    def _call_ended(self) -> None:
        if not self._is_retired:
            self._on_room()
        elif not self._calls:
            self._outbox.flush()
            self._failure = self._failure or "was left"
            self._transport.close()

    def _watch_again(self) -> None:
        self._watch = self._loop.call_later(self._bounds.ping_after_ms / 1_000, self._look)

    def _look(self) -> None:
        """A frozen node keeps its connections open and says nothing: only a ping tells."""
        self._watch = None
        if not self._calls:
            return
        now, patience = self._loop.time(), self._bounds.ping_after_ms / 1_000
        if self._pinged_at is not None and now - self._pinged_at >= patience:
            self.fail("does not respond")
            return
        if self._pinged_at is None and now - self._heard_at >= patience:
            self._pinged_at = now
            self._last_correlation += 1
            self._outbox.add([encode_frame(self._last_correlation, PeerKind.PING)])
        self._watch_again()
