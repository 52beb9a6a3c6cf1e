"""One open connection to another node: multiplexed requests, answered in any order."""

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
    """Limits of each connection to another node."""

    in_flight_max: int = IN_FLIGHT_MAX
    """Maximum number of unanswered requests; further ones are queued."""
    queued_max: int = 4_096
    """Maximum number of queued requests; further ones are refused."""
    queued_bytes_max: int = 64 << 20
    backlog_bytes_max: int = 8 << 20
    """Unsent bytes in the transport above which requests are queued (back-pressure)."""
    connect_ms_max: int = 2_000
    """Time-out of connecting and the hello."""
    ping_after_ms: int = 1_000
    """Silence after which a node that owes answers is pinged, so that one that has nothing to say
    yet differs from one that cannot be reached."""
    ping_ms_max: int = 3_000
    """Time without the answer to a ping after which the connection fails."""
    backoff_ms_min: int = 50
    backoff_ms_max: int = 2_000


class PeerCall:
    """A request and the future of its answer."""

    __slots__ = ("answer", "body", "connection", "correlation", "kind")

    def __init__(self, kind: int, body: bytes, answer: asyncio.Future[memoryview]) -> None:
        self.kind = kind
        self.body = body
        self.answer = answer
        self.connection: PeerConnection | None = None
        """The connection that sent it. None: not sent, so the other node cannot have done it."""
        self.correlation = 0


class PeerConnection:
    """Implements ports.transport.Session. `send` may be called once `opened` is done."""

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
        """This node's hello, as sent on this connection."""
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
        self._heard_at = self._owed_at = self._loop.time()
        self._pinged_at: float | None = None
        self._watch: asyncio.TimerHandle | None = None
        self.opened: asyncio.Future[str | None] = self._loop.create_future()
        """Resolves after the hellos: None on success, else the reason of the failure."""
        body = encode_hello(hello)
        self._outbox.add([encode_frame(HELLO_CORRELATION, PeerKind.HELLO, body)])

    @property
    def is_usable(self) -> bool:
        return self._failure is None and not self._is_retired

    @property
    def heard_at(self) -> float:
        """Loop time at which anything was last received."""
        return self._heard_at

    @property
    def is_awaited(self) -> bool:
        """True if the node owes an answer."""
        return bool(self._calls)

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
            self._owed_at = self._loop.time()
            self._watch_until(self._owed_at + self._bounds.ping_after_ms / 1_000)

    def cancel(self, call: PeerCall) -> None:
        """Cancels a call that its caller no longer waits for."""
        if self._calls.pop(call.correlation, None) is not None and self._failure is None:
            self._outbox.add([encode_frame(call.correlation, PeerKind.CANCEL)])
            self._call_ended()

    def retire(self) -> None:
        """Accepts no further calls, and closes after the last answer."""
        self._is_retired = True
        self._call_ended()

    def fail(self, reason: str) -> None:
        """Closes at once. Requests in flight have an unknown outcome."""
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
            self.fail(f"sent a malformed answer: {error}")

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
            raise MalformedFrame("the first frame is not a hello")
        if frame.status == REFUSED:
            self.fail(f"refuses the connection: {decode_refusal(frame.body)}")
            return
        theirs = decode_hello(frame.body)
        found = objection(
            self.hello, theirs, cluster=self._cluster, identity=self._transport.identity
        )
        if found is None and theirs.node != self._node:
            found = f"node {theirs.node} listens there; check the addresses that both advertise"
        if found is not None:
            self.fail(f"does not match its registration: {found}")
            return
        self._receiver.trust()
        self.opened.set_result(None)

    def _answered(self, frame: Frame) -> None:
        call = self._calls.pop(frame.correlation, None)
        if call is None:
            # The answer to a cancelled call or to a ping: nobody waits for it.
            if frame.correlation > self._last_correlation:
                raise MalformedFrame("an answer without a request")
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
            self._failure = self._failure or "was disconnected by this node"
            self._transport.close()

    def _watch_until(self, at: float) -> None:
        self._watch = self._loop.call_at(at, self._look)

    def _look(self) -> None:
        """Pings a silent node: a frozen process keeps its connections open but answers nothing."""
        self._watch = None
        if not self._calls:
            return
        now, patience = self._loop.time(), self._bounds.ping_after_ms / 1_000
        ping_s_max = self._bounds.ping_ms_max / 1_000
        due_at = max(self._heard_at, self._owed_at) + patience
        if self._pinged_at is not None and now - self._pinged_at >= ping_s_max:
            self.fail("does not respond")
            return
        if self._pinged_at is None and now >= due_at:
            self._pinged_at = now
            self._last_correlation += 1
            self._outbox.add([encode_frame(self._last_correlation, PeerKind.PING)])
        self._watch_until(due_at if self._pinged_at is None else now + patience)
