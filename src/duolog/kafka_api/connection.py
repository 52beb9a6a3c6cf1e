"""One Kafka client: cuts its bytes into frames and sends answers in the order of requests.

All frames of a read event are served before anything is written: batches go to each log with one
write, and answers to the socket with one. Like Kafka, a connection serves one request at a time,
except that Produce requests are pipelined.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, Any

from typing_extensions import Buffer

from duolog.kafka_api.answers import Answer, TaskAnswer
from duolog.kafka_api.client import Client
from duolog.kafka_api.dispatch import OutOfTouch
from duolog.kafka_api.handlers.produce_lane import SHAPE_AT, Lane
from duolog.kafka_api.receive_buffer import Growable, ReceiveBuffer
from duolog.observe.logs import get_logger
from duolog.ports.transport import Chunk, Transport
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.frames import parse_header

if TYPE_CHECKING:
    from duolog.kafka_api.door import KafkaDoor

PIPELINED_REQUESTS_MAX = 1_000
"""Answers that one connection may be owed before its next request has to wait."""

TURNS_MAX = 32
"""Rounds in which one connection is served before it yields to the others."""

LANES_MAX = 256
"""Partitions that one connection can produce to on lanes, without parsing of its requests."""

SIZE_BYTES = 4
HEADER_BYTES_MIN = 8
"""API key, version and correlation id: no request is shorter."""
FRAME_BYTES_MIN = SIZE_BYTES + HEADER_BYTES_MIN

_SIZE = Struct(">i")
_FRAME_START = Struct(">iii")
"""Size, API key and version as one number, correlation id."""

log = get_logger("kafka")


class Connection(Growable):
    __slots__ = (
        "_answers",
        "_buffer",
        "_door",
        "_frame_since_ms",
        "_is_used",
        "_lane_bytes",
        "_lanes",
        "_paused",
        "_produce",
        "_request_bytes_max",
        "_swept_backlog_bytes",
        "_transport",
        "_unpack_start",
        "_used_ms",
        "is_serving",
    )

    def __init__(self, door: "KafkaDoor", transport: Transport) -> None:
        self._door = door
        self._produce = door.produce
        self._request_bytes_max = door.request_bytes_max
        self._transport = transport
        self._buffer = ReceiveBuffer(door.receive_budget)
        self._answers: deque[Answer] = deque()
        self._lanes: dict[bytes, Lane] = {}
        self._lane_bytes = 0
        """Length of every lane's shape: all lanes of a connection have one length."""
        self._unpack_start = _start_unpacker(0)
        """Unpacks a frame's size, API key and version, correlation id, and possible shape."""
        self._paused = False
        self.is_serving = False
        self._is_used = False
        """True if a request came since the last sweep."""
        self._used_ms = door.clock.monotonic_ms()
        self._swept_backlog_bytes = 0
        """Unsent bytes at the last sweep; a change shows that the client reads."""
        self._frame_since_ms: int | None = None
        """Time since when a frame is incomplete; None between frames."""

    def get_buffer(self) -> memoryview:
        buffer = self._buffer
        end = buffer.end
        return buffer.view[end:] if end else buffer.view

    def received(self, count: int) -> None:
        buffer = self._buffer
        end = buffer.end + count
        # A producer that waits for each answer sends one request, into an empty buffer and with no
        # answer owed. Nothing can be gathered, so it takes the shortest way; every call saved here
        # is a percent of the request's cost.
        if end == count and not self._answers:
            size, api, correlation_id, shape = self._unpack_start(buffer.data)
            lane = self._lanes.get(shape)
            if (
                lane is not None
                and api == lane.api
                and size == end - SIZE_BYTES
                and size <= self._request_bytes_max
                and not self._transport.backlog_bytes
            ):
                answer = self._produce.serve_on(lane, correlation_id, buffer.view, end)
                if answer is not None:
                    self._is_used = True
                    if isinstance(answer, bytes):
                        self._transport.send(answer)
                    else:
                        self._answers.append(answer)
                    return
        buffer.end = end
        self._serve()

    def drained(self) -> None:
        self._serve()

    def budget_freed(self) -> None:
        self._make_room()

    def answer_ready(self) -> None:
        """Schedule sending: an answer that was waiting is ready. It leaves after this event."""
        if not self.is_serving:
            self._door.serve_soon(self)

    def resume(self) -> None:
        """Send the answers that became ready, then serve the requests that waited behind them."""
        self._serve()

    def closed(self) -> None:
        for answer in self._answers:
            answer.abandon()
        self._answers.clear()
        self._buffer.release(self)
        self._door.forget(self)

    def sweep(self, now_ms: int, *, idle_ms_max: int, frame_ms_max: int) -> None:
        """Close an idle or too slow connection; give back unused memory."""
        backlog_bytes = self._transport.backlog_bytes
        if self._is_used or backlog_bytes != self._swept_backlog_bytes:
            self._is_used = False
            self._used_ms = now_ms
            self._swept_backlog_bytes = backlog_bytes
        for answer in self._answers:
            if not answer.ready and now_ms - answer.started_ns // 1_000_000 > answer.timeout_ms:
                answer.time_out()
        if self._frame_since_ms is not None and now_ms - self._frame_since_ms > frame_ms_max:
            self._refuse("a request stayed incomplete for too long")
        elif not self._answers and now_ms - self._used_ms > idle_ms_max:
            # Without a backlog the client was idle; with one, it has stopped reading.
            self._transport.abort()
        elif now_ms - self._used_ms > 1_000:
            self._buffer.shrink()

    def close_when_answered(self) -> None:
        """Read no further requests, and close once those that came are answered.

        A consumer asks again as soon as it is answered: it would be owed something for ever, and
        this node keep its leaderships while it accepts no connections any more.
        """
        self._paused = False
        self._transport.pause_reading()
        for answer in tuple(self._answers):
            # Records that come later are another leader's to tell.
            if not answer.ready and not answer.is_produce:
                answer.time_out()
        if not self._answers:
            self._transport.close()

    def _serve(self) -> None:
        """Serve whole frames until one must wait, then send answers; repeat up to TURNS_MAX
        times."""
        door = self._door
        malformed: str | None = None
        more = True
        turns = TURNS_MAX
        self.is_serving = True
        try:
            while more and turns:
                turns -= 1
                try:
                    self._serve_frames()
                except MalformedRequest as error:
                    malformed = str(error)
                except OutOfTouch:
                    self._transport.close()
                    return
                finally:
                    # Even after an error: staged batches must not outlive the buffer that holds
                    # their bytes.
                    if door.produce.staged:
                        door.produce.write()
                more = self._send_answers() and malformed is None
        finally:
            self.is_serving = False
        if malformed is not None:
            self._refuse(malformed)
            return
        self._make_room()
        if more:
            door.serve_soon(self)

    def _serve_frames(self) -> None:
        """Serve frames until one is incomplete or must wait. Produced batches are only staged."""
        buffer = self._buffer
        data, view = buffer.data, buffer.view
        start, end = buffer.start, buffer.end
        door = self._door
        answers = self._answers
        bytes_max = door.request_bytes_max
        now_ns = door.clock.monotonic_ns()
        if now_ns >= door.liveness.until_ns:
            door.liveness.look()
        self._is_used = True
        incomplete = False
        if self._transport.backlog_bytes > door.backlog_bytes_max:
            # Back-pressure: the client must read before it is served again; `drained` tells when it
            # has.
            self._mark_incomplete(False)
            return
        while end - start >= FRAME_BYTES_MIN:
            size, api, correlation_id = _FRAME_START.unpack_from(data, start)
            frame_end = start + SIZE_BYTES + size
            if frame_end > end or not HEADER_BYTES_MIN <= size <= bytes_max:
                _check_size(size, bytes_max)
                incomplete = True
                break
            if answers and self._must_wait(api >> 16):
                break
            answer: Answer | None = None
            shape_at = start + SHAPE_AT
            shape_end = shape_at + self._lane_bytes
            lane = self._lanes.get(data[shape_at:shape_end])
            if lane is not None and lane.api == api:
                answer = door.produce.stage_on(
                    lane, correlation_id, view, shape_end, frame_end, now_ns
                )
            if answer is None:
                answer = self._serve_frame(view, start + SIZE_BYTES, shape_at, frame_end, now_ns)
            answers.append(answer)
            buffer.start = start = frame_end
        else:
            if end - start >= SIZE_BYTES:
                _check_size(_SIZE.unpack_from(data, start)[0], bytes_max)
            incomplete = end > start
        if start == end:
            buffer.start = buffer.end = 0
        if incomplete or self._frame_since_ms is not None:
            self._mark_incomplete(incomplete)

    def _serve_frame(
        self, view: memoryview, position: int, shape_at: int, end: int, now_ns: int
    ) -> Answer:
        door = self._door
        api_key, version, correlation_id, client_id, body_at = parse_header(view, position, end)
        stats = door.dispatch.stats_of(api_key, version)
        if api_key == ApiKey.PRODUCE:
            return door.produce.stage(
                self, version, correlation_id, view, shape_at, body_at, end, now_ns
            )
        if api_key == ApiKey.FETCH:
            return door.fetch.begin(self, version, correlation_id, view, body_at, end, now_ns)
        answer = TaskAnswer(stats, now_ns)
        client = Client(client_id or "", self._transport.host, version)
        work = door.dispatch.begin(api_key, correlation_id, client, view[body_at:end])
        if isinstance(work, bytes):
            answer.complete(work)
        else:
            answer.task = asyncio.ensure_future(work)
            answer.task.add_done_callback(partial(self._finished, answer))
        return answer

    def _must_wait(self, api_key: int) -> bool:
        """True if a request has to wait for the answers that are owed."""
        return (
            api_key != ApiKey.PRODUCE
            or not self._answers[-1].is_produce
            or len(self._answers) >= PIPELINED_REQUESTS_MAX
        )

    def add_lane(self, lane: Lane) -> None:
        """Serve further requests of this shape without parsing them."""
        if len(lane.shape) != self._lane_bytes or len(self._lanes) >= LANES_MAX:
            self._lanes.clear()
            self._lane_bytes = len(lane.shape)
            self._unpack_start = _start_unpacker(self._lane_bytes)
        self._lanes[lane.shape] = lane

    def drop_lanes(self) -> None:
        """Forget all lanes: the partitions behind them may have moved."""
        self._lanes.clear()

    def _finished(self, answer: TaskAnswer, task: asyncio.Task[bytes]) -> None:
        if task.cancelled():
            return
        bug = task.exception()
        if bug is None:
            answer.complete(task.result())
            self.answer_ready()
        else:
            log.error("a request could not be served", peer=self._transport.peer, exc_info=bug)
            self._transport.abort()

    def _send_answers(self) -> bool:
        """Send the ready answers with one write; returns True if more frames can be served."""
        answers = self._answers
        if not answers or not answers[0].ready:
            return False
        now_ns = self._door.clock.monotonic_ns()
        chunks: list[Chunk] = []
        while answers and answers[0].ready:
            first = answers.popleft()
            first.append_to(chunks)
            # Requests of one read event are counted with one call.
            count = 1
            while answers and answers[0].ready and answers[0].started_ns == first.started_ns:
                answers.popleft().append_to(chunks)
                count += 1
            first.stats.done(first.started_ns, now_ns, count)
        if len(chunks) > 1 and all(type(chunk) is bytes for chunk in chunks):
            chunks = [b"".join(chunks)]  # type: ignore[arg-type]
        if len(chunks) == 1 and type(chunks[0]) is bytes:
            self._transport.send(chunks[0])
        elif chunks:
            self._transport.write(chunks)
        return not answers and self._buffer.end - self._buffer.start >= SIZE_BYTES

    def _mark_incomplete(self, incomplete: bool) -> None:
        if not incomplete:
            self._frame_since_ms = None
        elif self._frame_since_ms is None:
            self._frame_since_ms = self._door.clock.monotonic_ms()

    def _make_room(self) -> None:
        """Make room in the receive buffer, or stop reading until there is some."""
        buffer = self._buffer
        if buffer.end == len(buffer.data):
            buffer.compact()
            if buffer.is_full and not self._grow():
                self._paused = True
                self._transport.pause_reading()
                return
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _grow(self) -> bool:
        if self._frame_since_ms is None:
            # The buffer holds whole frames that wait for an earlier answer, so the client must
            # wait, too.
            return False
        (size,) = _SIZE.unpack_from(self._buffer.data, 0)
        return self._buffer.grow(size + SIZE_BYTES, self)

    def refuse_unacknowledged(self) -> None:
        """Close the connection, Kafka's way to report that a request with acks=0 failed."""
        self._transport.close()

    def _refuse(self, reason: str) -> None:
        log.warning("connection closed", peer=self._transport.peer, reason=reason)
        self._transport.abort()


def _start_unpacker(shape_bytes: int) -> Callable[[Buffer], tuple[Any, ...]]:
    return Struct(f">iii{shape_bytes}s").unpack_from


def _check_size(size: int, bytes_max: int) -> None:
    """Reject an impossible frame size before any more of the frame is received."""
    if not HEADER_BYTES_MIN <= size <= bytes_max:
        raise MalformedRequest(f"a frame declares an impossible size of {size} bytes")
