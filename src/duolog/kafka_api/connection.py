"""One Kafka client: cuts its bytes into frames and sends answers in the order of requests.

All frames of a read event are served before anything is written: batches go to each log with
one write, and answers to the socket with one. Like Kafka, a connection serves one request at
a time, except that Produce requests are pipelined.
"""

import asyncio
from collections import deque
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING

from duolog.kafka_api.answers import Answer, TaskAnswer
from duolog.kafka_api.client import Client
from duolog.kafka_api.receive_buffer import Growable, ReceiveBuffer
from duolog.observe.logs import get_logger
from duolog.ports.transport import Chunk, Transport
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.frames import parse_header

if TYPE_CHECKING:
    from duolog.kafka_api.door import KafkaDoor

PIPELINED_REQUESTS_MAX = 1_000
"""Answers that one connection may be owed before its next request has to wait."""

SIZE_BYTES = 4
HEADER_BYTES_MIN = 8
"""API key, version and correlation id: no request is shorter."""

_SIZE = Struct(">i")
_API = Struct(">hhi")

log = get_logger("kafka")


class Connection(Growable):
    __slots__ = (
        "_answers",
        "_buffer",
        "_door",
        "_frame_since_ms",
        "_used_ms",
        "_serving",
        "_transport",
    )

    def __init__(self, door: "KafkaDoor", transport: Transport) -> None:
        self._door = door
        self._transport = transport
        self._buffer = ReceiveBuffer(door.receive_budget)
        self._answers: deque[Answer] = deque()
        self._serving = False
        self._used_ms = door.clock.monotonic_ms()
        self._frame_since_ms: int | None = None
        """Since when a frame is incomplete; None between frames."""

    def now_ns(self) -> int:
        return self._door.clock.monotonic_ns()

    def get_buffer(self) -> memoryview:
        buffer = self._buffer
        return buffer.view[buffer.end :]

    def received(self, count: int) -> None:
        self._buffer.end += count
        self._serve()

    def drained(self) -> None:
        self._serve()

    def budget_freed(self) -> None:
        self._make_room()

    def answer_ready(self) -> None:
        """An answer that was waited for is there; it is sent when this event is over."""
        if not self._serving:
            self._door.serve_soon(self)

    def resume(self) -> None:
        """Send what has become ready, then serve what had to wait behind it."""
        self._serve()

    def closed(self) -> None:
        for answer in self._answers:
            answer.abandon()
        self._answers.clear()
        self._buffer.release(self)
        self._door.forget(self)

    def sweep(self, now_ms: int, *, idle_ms_max: int, frame_ms_max: int) -> None:
        """Close what is idle or too slow; give back memory that is not used."""
        if self._frame_since_ms is not None and now_ms - self._frame_since_ms > frame_ms_max:
            self._refuse("a request was not received in time")
        elif not self._answers and now_ms - self._used_ms > idle_ms_max:
            self._transport.close()
        elif now_ms - self._used_ms > 1_000:
            self._buffer.shrink()

    def close_when_answered(self) -> None:
        if not self._answers:
            self._transport.close()

    def _serve(self) -> None:
        """Serve whole frames as long as nothing has to be waited for, then send answers."""
        door = self._door
        malformed: str | None = None
        more = True
        self._serving = True
        while more:
            try:
                self._serve_frames()
            except MalformedRequest as error:
                malformed = str(error)
            finally:
                # Whatever went wrong, staged batches must not outlive the bytes they point to.
                if door.produce.has_staged:
                    door.produce.write()
            more = self._send_answers() and malformed is None
        self._serving = False
        if malformed is not None:
            self._refuse(malformed)
        else:
            self._make_room()

    def _serve_frames(self) -> None:
        """Serve frames until one is incomplete or must wait. Produced batches are only staged."""
        buffer = self._buffer
        data, view = buffer.data, buffer.view
        start, end = buffer.start, buffer.end
        if end - start < SIZE_BYTES:
            self._mark_incomplete(end > start)
            return
        door = self._door
        answers = self._answers
        bytes_max = door.request_bytes_max
        now_ns = door.clock.monotonic_ns()
        self._used_ms = now_ns // 1_000_000
        incomplete = False
        while end - start >= SIZE_BYTES:
            (size,) = _SIZE.unpack_from(data, start)
            if not HEADER_BYTES_MIN <= size <= bytes_max:
                raise MalformedRequest(f"a frame of {size} bytes was announced")
            frame_end = start + SIZE_BYTES + size
            if frame_end > end:
                incomplete = True
                break
            if answers and self._must_wait(data, start):
                break
            api_key, version, correlation_id, client_id, position = parse_header(
                view, start + SIZE_BYTES, frame_end
            )
            buffer.start = start = frame_end
            answer: Answer
            if api_key == ApiKey.PRODUCE and APIS[ApiKey.PRODUCE].serves(version):
                answer = door.produce.stage(
                    self, version, correlation_id, view, position, frame_end, now_ns
                )
            elif api_key == ApiKey.FETCH and APIS[ApiKey.FETCH].serves(version):
                answer = door.fetch.begin(
                    self, version, correlation_id, view, position, frame_end, now_ns
                )
            else:
                client = Client(client_id or "", self._transport.host, version)
                answer = self._serve_other(
                    api_key, correlation_id, client, view[position:frame_end]
                )
            answers.append(answer)
        else:
            incomplete = end > start
        if start == end:
            buffer.start = buffer.end = 0
        self._mark_incomplete(incomplete)

    def _must_wait(self, data: bytearray, start: int) -> bool:
        """Whether the frame at `start` has to wait for the answers that are owed."""
        (api_key, _, _) = _API.unpack_from(data, start + SIZE_BYTES)
        return (
            api_key != ApiKey.PRODUCE
            or not self._answers[-1].is_produce
            or len(self._answers) >= PIPELINED_REQUESTS_MAX
            or self._transport.backlog_bytes > self._door.backlog_bytes_max
        )

    def _serve_other(
        self, api_key: int, correlation_id: int, client: Client, body: memoryview
    ) -> Answer:
        answer = TaskAnswer()
        work = self._door.dispatch.begin(api_key, correlation_id, client, body)
        if isinstance(work, bytes):
            answer.complete((work,))
        else:
            answer.task = asyncio.ensure_future(work)
            answer.task.add_done_callback(partial(self._finished, answer))
        return answer

    def _finished(self, answer: TaskAnswer, task: asyncio.Task[bytes]) -> None:
        if task.cancelled():
            return
        bug = task.exception()
        if bug is None:
            answer.complete((task.result(),))
            self.answer_ready()
        else:
            log.error("a request could not be served", peer=self._transport.peer, exc_info=bug)
            self._transport.abort()

    def _send_answers(self) -> bool:
        """Send the answers that are ready, with one write; whether the queue became empty."""
        answers = self._answers
        if not answers or not answers[0].ready:
            return False
        chunks: list[Chunk] = []
        while answers and answers[0].ready:
            chunks += answers.popleft().chunks()
        if len(chunks) > 1 and all(type(chunk) is bytes for chunk in chunks):
            chunks = [b"".join(chunks)]  # type: ignore[arg-type]
        if chunks:
            self._transport.write(chunks)
        return not answers and self._buffer.end - self._buffer.start >= SIZE_BYTES

    def _mark_incomplete(self, incomplete: bool) -> None:
        if not incomplete:
            self._frame_since_ms = None
        elif self._frame_since_ms is None:
            self._frame_since_ms = self._door.clock.monotonic_ms()

    def _make_room(self) -> None:
        """Make sure that there is somewhere to receive into, or stop reading until there is."""
        buffer = self._buffer
        if buffer.is_full:
            buffer.compact()
            if buffer.is_full and not self._grow():
                self._transport.pause_reading()
                return
        self._transport.resume_reading()

    def _grow(self) -> bool:
        if self._frame_since_ms is None:
            # Whole frames that wait for an earlier answer: the client has to wait, too.
            return False
        (size,) = _SIZE.unpack_from(self._buffer.data, 0)
        return self._buffer.grow(size + SIZE_BYTES, self)

    def refuse_unacknowledged(self) -> None:
        """A request without acknowledgement failed: closing is how Kafka tells the client."""
        self._transport.close()

    def _refuse(self, reason: str) -> None:
        log.warning("connection closed", peer=self._transport.peer, reason=reason)
        self._transport.abort()
