"""Link to one node on one lane: connects on demand, reconnects with back-off, queues calls."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from duolog.client.errors import reason_of
from duolog.client.peer_connection import LinkBounds, PeerCall, PeerConnection
from duolog.core.membership.silence import LinkLook
from duolog.observe.logs import get_logger
from duolog.ports.network import Network
from duolog.ports.peers import PeerUnreachable
from duolog.ports.transport import Transport
from duolog.wire.peer.frames import BODY_BYTES_MAX
from duolog.wire.peer.hello import Hello

Address = tuple[str, int]

log = get_logger("peers")


class PeerLink:
    def __init__(
        self,
        node: int,
        network: Network,
        address_of: Callable[[int], Address | None],
        hello: Callable[[], Hello],
        bounds: LinkBounds,
        cluster: str | None,
        on_refused: Callable[[int], None],
    ) -> None:
        self._node = node
        self._network = network
        self._address_of = address_of
        self._hello = hello
        self._bounds = bounds
        self._cluster = cluster
        self._on_refused = on_refused
        self._has_connected = False
        self._loop = asyncio.get_running_loop()
        self._connection: PeerConnection | None = None
        self._retired: dict[PeerConnection, None] = {}
        """Connections that accept no further calls and wait for their last answers."""
        self._queue: OrderedDict[PeerCall, None] = OrderedDict()
        """Calls not yet sent, oldest first."""
        self._queued_bytes = 0
        self._connecting: asyncio.Task[None] | None = None
        self._failures = 0
        """Consecutive failed attempts to connect."""
        self._failure = ""
        self._failed_address: Address | None = None
        self._next_attempt_at = 0.0
        self._heard_at = float("-inf")
        """Time of the last sign of life on connections that are gone."""
        self._has_tried = False
        """True if an attempt has failed since the last look."""
        self._is_closed = False

    async def call(self, kind: int, body: bytes, timeout_ms: int) -> memoryview:
        assert len(body) <= BODY_BYTES_MAX, "whoever made the request has to bound it"
        call = PeerCall(kind, body, self._loop.create_future())
        self._submit(call)
        timer = self._loop.call_later(timeout_ms / 1_000, self._expire, call, timeout_ms)
        try:
            return await call.answer
        except asyncio.CancelledError:
            self._give_up(call)
            raise
        finally:
            timer.cancel()

    def expect(self) -> None:
        """Ends the back-off: the node has just registered again."""
        self._next_attempt_at = 0.0

    def look(self) -> LinkLook:
        connection = self._connection
        if connection is not None:
            self._heard_at = max(self._heard_at, connection.heard_at)
        is_awaited = connection is not None and connection.is_awaited
        has_tried, self._has_tried = self._has_tried, False
        is_tried = is_awaited or has_tried or bool(self._queue) or self._connecting is not None
        return LinkLook(self._node, self._heard_at, is_tried)

    def close(self) -> None:
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
        for connection in (*self._retired, self._connection):
            if connection is not None:
                connection.fail("was disconnected by this node")
        self._fail_queue("was disconnected by this node")

    def _submit(self, call: PeerCall) -> None:
        connection = self._connection
        if connection is not None and not connection.is_usable:
            connection = self._connection = None
        if connection is not None and connection.hello.epoch != self._hello().epoch:
            # This node has registered again: the other side still believes the epoch in the
            # hello of the old connection.
            self._retire(connection)
            connection = None
        if connection is not None and not self._queue and connection.has_room:
            connection.send(call)
            return
        if connection is None and self._connecting is None:
            self._begin_connecting()
        bounds = self._bounds
        if (
            len(self._queue) >= bounds.queued_max
            or self._queued_bytes + len(call.body) > bounds.queued_bytes_max
        ):
            raise self._unreachable("has too many requests waiting to be sent")
        self._queue[call] = None
        self._queued_bytes += len(call.body)

    def _send_queued(self) -> None:
        connection = self._connection
        while self._queue and connection is not None and connection.has_room:
            call, _ = self._queue.popitem(last=False)
            self._queued_bytes -= len(call.body)
            if not call.answer.done():
                connection.send(call)

    def _expire(self, call: PeerCall, timeout_ms: int) -> None:
        if call.answer.done():
            return
        self._has_tried = True
        call.answer.set_exception(
            PeerUnreachable(
                self._node,
                f"did not answer within {timeout_ms} ms",
                was_sent=call.connection is not None,
            )
        )
        self._give_up(call)

    def _give_up(self, call: PeerCall) -> None:
        if call.connection is not None:
            call.connection.cancel(call)
        elif call in self._queue:
            del self._queue[call]
            self._queued_bytes -= len(call.body)

    def _begin_connecting(self) -> None:
        """Starts to connect; raises PeerUnreachable if closed, unregistered or backing off."""
        if self._is_closed:
            raise self._unreachable("was disconnected by this node")
        address = self._address_of(self._node)
        if address is None:
            raise self._unreachable("is not registered")
        self._has_tried = True
        if address == self._failed_address and self._loop.time() < self._next_attempt_at:
            raise self._unreachable(self._failure)
        self._connecting = self._loop.create_task(self._connect(address))

    async def _connect(self, address: Address) -> None:
        hello = self._hello()
        made: list[PeerConnection] = []

        def new_session(transport: Transport) -> PeerConnection:
            made.append(
                PeerConnection(
                    self._node,
                    transport,
                    hello,
                    self._bounds,
                    cluster=self._cluster,
                    on_room=self._send_queued,
                    on_closed=self._lost,
                )
            )
            return made[0]

        failure = ""
        try:
            async with asyncio.timeout(self._bounds.connect_ms_max / 1_000):
                await self._network.dial(*address, new_session)
                failure = await made[0].opened or ""
        except TimeoutError:
            failure = f"did not accept a connection within {self._bounds.connect_ms_max} ms"
        except OSError as error:
            failure = f"cannot be connected to: {reason_of(error)}"
            if self._has_connected and isinstance(error, ConnectionRefusedError):
                self._on_refused(self._node)
        finally:
            self._connecting = None
            if (failure or self._is_closed) and made:
                made[0].fail(failure or "was disconnected by this node")
        if failure:
            self._failed(address, failure)
        else:
            self._connected(address, made[0])

    def _connected(self, address: Address, connection: PeerConnection) -> None:
        if not connection.is_usable:
            self._failed(address, "closed the connection")
            return
        if self._failures:
            log.info("node is reachable again", node=self._node)
        self._failures = 0
        self._failed_address = None
        self._has_connected = True
        if connection.hello.epoch == self._hello().epoch:
            self._connection = connection
            self._send_queued()
        else:
            connection.fail("was disconnected by this node")
            self._connect_for_queue()

    def _failed(self, address: Address, failure: str) -> None:
        bounds = self._bounds
        pause_ms = min(bounds.backoff_ms_min << min(self._failures, 16), bounds.backoff_ms_max)
        self._failures += 1
        self._failed_address = address
        self._next_attempt_at = self._loop.time() + pause_ms / 1_000
        if self._failures == 1 or failure != self._failure:
            log.warning("node is unreachable", node=self._node, address=address, reason=failure)
        self._failure = failure
        self._fail_queue(failure)

    def _fail_queue(self, reason: str) -> None:
        queue, self._queue = self._queue, OrderedDict()
        self._queued_bytes = 0
        for call in queue:
            if not call.answer.done():
                call.answer.set_exception(self._unreachable(reason))

    def _retire(self, connection: PeerConnection) -> None:
        self._connection = None
        self._retired[connection] = None
        connection.retire()

    def _lost(self, connection: PeerConnection) -> None:
        self._retired.pop(connection, None)
        if connection is not self._connection:
            return
        self._heard_at = max(self._heard_at, connection.heard_at)
        self._connection = None
        self._connect_for_queue()

    def _connect_for_queue(self) -> None:
        """Reconnects if calls are queued."""
        if self._queue and self._connecting is None:
            try:
                self._begin_connecting()
            except PeerUnreachable as error:
                self._fail_queue(error.reason)

    def _unreachable(self, reason: str) -> PeerUnreachable:
        return PeerUnreachable(self._node, reason, was_sent=False)
