"""One connection of another node, whose requests are served concurrently.

All frames of a read event are started before anything is written; the answers that are ready
in one turn of the event loop leave in one write.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from duolog.model.errors import InvalidRequest, PeerFailed, Refusal, UnsupportedVersion
from duolog.observe.logs import get_logger
from duolog.ports.peers import Caller, PeerHandler
from duolog.ports.transport import Chunk, Transport
from duolog.wire.peer.frames import (
    OK,
    REFUSED,
    Frame,
    MalformedFrame,
    encode_frame,
    frame_chunks,
)
from duolog.wire.peer.hello import decode_hello, encode_hello, objection
from duolog.wire.peer.kinds import PeerKind
from duolog.wire.peer.outbox import Outbox
from duolog.wire.peer.receiving import FrameReceiver
from duolog.wire.peer.refusals import encode_refusal

if TYPE_CHECKING:
    from duolog.peer_api.door import PeerDoor

Answer = bytes | Sequence[Chunk]

FRAMES_PER_TURN_MAX = 256
"""Frames started per turn of the event loop, so that one connection never starves the others."""

log = get_logger("peers")


class PeerSession:
    def __init__(self, door: "PeerDoor", transport: Transport) -> None:
        self._door = door
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._receiver = FrameReceiver()
        self._outbox = Outbox(transport, self._loop.call_soon)
        self._caller: Caller | None = None
        """The node at the other end; None until its hello."""
        self._tasks: dict[int, asyncio.Task[Answer]] = {}
        """Requests being served, by correlation."""
        self._cancelled: set[asyncio.Task[Answer]] = set()
        """Cancelled requests whose tasks have not ended yet."""
        self._is_paused = False
        self._is_over = False
        self._hello_timer = self._loop.call_later(
            door.bounds.hello_ms_max / 1_000, self._hello_is_late
        )

    def get_buffer(self) -> memoryview:
        return self._receiver.get_buffer()

    def received(self, count: int) -> None:
        self._receiver.received(count)
        self._serve()

    def drained(self) -> None:
        if self._is_paused:
            self._serve()

    def closed(self) -> None:
        self._is_over = True
        self._hello_timer.cancel()
        for task in self._tasks.values():
            self._cancel(task)
        self._tasks.clear()
        self._door.forget(self)

    def abort(self) -> None:
        self._transport.abort()

    def _serve(self) -> None:
        """Starts received requests; pauses at the turn's limit or the answer backlog's."""
        frames = 0
        try:
            while not self._is_over:
                if self._transport.backlog_bytes > self._door.bounds.backlog_bytes_max:
                    self._pause()
                    return
                if frames == FRAMES_PER_TURN_MAX:
                    self._pause()
                    self._loop.call_soon(self._serve)
                    return
                frame = self._receiver.next_frame()
                if frame is None:
                    break
                frames += 1
                if self._caller is None:
                    self._greet(frame)
                else:
                    self._begin(self._caller, frame)
        except MalformedFrame as error:
            self._log_closing(str(error))
            self._transport.abort()
            return
        if self._is_paused and not self._is_over:
            self._is_paused = False
            self._transport.resume_reading()

    def _pause(self) -> None:
        if not self._is_paused:
            self._is_paused = True
            self._transport.pause_reading()

    def _greet(self, frame: Frame) -> None:
        if (frame.kind, frame.status) != (PeerKind.HELLO, OK):
            raise MalformedFrame("the first frame is not a hello")
        ours, theirs = self._door.hello(), decode_hello(frame.body)
        found = objection(
            ours, theirs, cluster=self._door.cluster, identity=self._transport.identity
        )
        if found is not None:
            kind = InvalidRequest if theirs.version == ours.version else UnsupportedVersion
            self._refuse(frame, kind(found))
            return
        self._hello_timer.cancel()
        self._receiver.trust()
        self._caller = Caller(theirs.node, theirs.epoch)
        self._outbox.add([encode_frame(frame.correlation, PeerKind.HELLO, encode_hello(ours))])

    def _refuse(self, frame: Frame, refusal: Refusal) -> None:
        """Sends the refusal, then closes the connection."""
        self._is_over = True
        self._log_closing(str(refusal))
        body = encode_refusal(refusal)
        self._outbox.add([encode_frame(frame.correlation, frame.kind, body, status=REFUSED)])
        self._outbox.flush()
        self._transport.close()

    def _begin(self, caller: Caller, frame: Frame) -> None:
        if frame.status != OK:
            raise MalformedFrame(f"a request with status {frame.status}")
        if frame.kind == PeerKind.CANCEL:
            if (task := self._tasks.pop(frame.correlation, None)) is not None:
                self._cancel(task)
            return
        if frame.kind == PeerKind.PING:
            self._outbox.add([encode_frame(frame.correlation, PeerKind.PING)])
            return
        if frame.correlation in self._tasks:
            raise MalformedFrame("two requests at once have the same correlation")
        # Cut off rather than paused: a pause would also hold back the frames that cancel
        # requests, and the end of the connection.
        if max(len(self._tasks), len(self._cancelled)) >= self._door.bounds.in_flight_max:
            raise MalformedFrame("too many concurrent requests")
        handler = self._door.handlers.get(frame.kind)
        if handler is None:
            refusal = UnsupportedVersion(f"requests of kind {frame.kind} are not served here")
            self._send_refusal(frame.correlation, frame.kind, refusal)
            return
        task = self._loop.create_task(_handled(handler, caller, frame.body))
        self._tasks[frame.correlation] = task
        task.add_done_callback(partial(self._finished, frame.correlation, frame.kind))

    def _finished(self, correlation: int, kind: int, task: asyncio.Task[Answer]) -> None:
        if task in self._cancelled:
            # A cancelled request: nobody waits for its answer, but a bug must reach the log.
            self._cancelled.discard(task)
            if not task.cancelled() and (bug := task.exception()) is not None:
                self._log_failure(kind, bug)
        else:
            del self._tasks[correlation]
            self._answer(correlation, kind, task)

    def _answer(self, correlation: int, kind: int, task: asyncio.Task[Answer]) -> None:
        if task.cancelled():
            self._send_refusal(correlation, kind, PeerFailed("the request was cancelled"))
            return
        failure = task.exception()
        if failure is None:
            try:
                self._outbox.add(frame_chunks(correlation, kind, task.result()))
                return
            except ValueError as error:
                failure = error
        if not isinstance(failure, Refusal):
            self._log_failure(kind, failure)
            failure = PeerFailed("the node failed to serve the request; its log has the cause")
        self._send_refusal(correlation, kind, failure)

    def _send_refusal(self, correlation: int, kind: int, refusal: Refusal) -> None:
        body = encode_refusal(refusal)
        self._outbox.add([encode_frame(correlation, kind, body, status=REFUSED)])

    def _cancel(self, task: asyncio.Task[Answer]) -> None:
        self._cancelled.add(task)
        task.cancel()

    def _hello_is_late(self) -> None:
        self._log_closing("no hello arrived in time")
        self._transport.abort()

    def _log_failure(self, kind: int, failure: BaseException) -> None:
        if not isinstance(failure, Refusal):
            log.error(
                "a node's request could not be served",
                node=None if self._caller is None else self._caller.node,
                kind=kind,
                exc_info=failure,
            )

    def _log_closing(self, reason: str) -> None:
        log.warning("connection of a node closed", peer=self._transport.peer, reason=reason)


async def _handled(handler: PeerHandler, caller: Caller, body: memoryview) -> Answer:
    return await handler(caller, body)
