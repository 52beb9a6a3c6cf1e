"""One HTTP/1.1 connection: requests to the handler, answers back in order.

Requests of a connection are handled one after another. All answers that are ready when a read event
has been parsed leave in one write. A client that closes its side has disconnected: its pending
requests are cancelled.
"""

import asyncio
from collections import deque
from typing import cast

from duolog.adapters.http_pool import NEVER, HttpPool, Phase
from duolog.adapters.http_reader import Parsed, RequestReader
from duolog.adapters.http_response import CONTINUE, encode, refusal
from duolog.ports.http import Deferred, Request, Response

WRITE_BYTES_MAX = 256 * 1024
"""Limit of unread answers, beyond which no further request of the connection is handled."""


class HttpConnection(asyncio.Protocol):
    def __init__(self, pool: HttpPool, loop: asyncio.AbstractEventLoop) -> None:
        self._pool = pool
        self._loop = loop
        self.deadline = NEVER
        self._queue: deque[Parsed] = deque()
        self._waiting: asyncio.Task[Response] | Deferred | None = None
        """Pending answer to the current request, if its handler has to wait."""
        self._waiting_request: tuple[int, bool, bool]
        """Current request: bytes of its body, True if the connection stays open after it, True for
        HEAD."""
        self._late_answer = b""
        """Answer that had to be waited for; it leaves with those to the requests behind it."""
        self._charged_bytes = 0
        """Share of the pool's body bytes that this connection holds."""
        self._unfinished_bytes = 0
        """Part of `_charged_bytes` for a body that is not complete yet."""
        self._finished = False
        """True once the last answer has been written."""
        self._reading_paused = False
        self._writing_paused = False

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods, but not the class.
        self._transport = cast(asyncio.Transport, transport)
        self._reader = RequestReader(self._pool.limits, _peer_of(transport), self._pool.patterns)
        if self._pool.closing or not self._pool.has_room():
            self._turn_away()
            return
        self._transport.set_write_buffer_limits(high=WRITE_BYTES_MAX)
        self._pool.join(self)
        self._arm()

    def data_received(self, data: bytes) -> None:
        if self._finished:
            return
        reader, pool = self._reader, self._pool
        phase = reader.phase
        known = reader.recognize(data)
        if known is None:
            self._handle(reader.feed(data), phase)
            return
        body, _, memo = known
        serve = memo.serve
        if (
            serve is None
            or self._waiting is not None
            or self._queue
            or self._writing_paused
            or pool.bodies_bytes + len(body) > pool.bodies_bytes_max
        ):
            self._handle([(reader.request_of(data, known), True)], phase)
            return
        # The usual case: a request like an earlier one, on a connection with nothing else to do.
        count = len(body)
        self._waiting_request = (count, True, False)
        self._charged_bytes += count
        pool.bodies_bytes += count
        self.deadline = NEVER
        try:
            answer = serve(body)
        except Exception as failure:
            self._take(self._failed(failure))
            return
        if answer.response is None:
            self._waiting = answer
            answer.hand_to(self._take)
        else:
            self._take(answer.response)

    def pause_writing(self) -> None:
        self._writing_paused = True
        self.deadline = self._pool.now + self._pool.limits.write_seconds_max

    def resume_writing(self) -> None:
        self._writing_paused = False
        self._advance()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finished = True
        self._pool.leave(self)
        self._queue.clear()
        self._late_answer = b""
        self._charge(-self._charged_bytes)
        self._reader.close()
        waiting, self._waiting = self._waiting, None
        if isinstance(waiting, Deferred):
            waiting.abandon()
        elif waiting is not None:
            waiting.cancel()

    # Called by the server.

    @property
    def is_idle(self) -> bool:
        """True if it appears to be between two requests."""
        is_busy = self._is_busy or self._is_held_up or self._transport.is_closing()
        return self._reader.phase == "idle" and not is_busy

    def expired(self) -> None:
        if self._writing_paused or self._finished:
            self.abort()
        elif self._reader.phase == "idle":
            self._transport.close()
        elif not self._reading_paused:
            self._queue.extend(self._reader.refuse(408, "The request did not arrive in time."))
            self._advance()

    def close_when_idle(self) -> None:
        if self._reader.phase == "idle" and not self._is_busy:
            self._transport.close()

    def abort(self) -> None:
        self._transport.abort()

    # Internal to the connection.

    @property
    def _is_busy(self) -> bool:
        return self._waiting is not None or bool(self._queue)

    @property
    def _is_held_up(self) -> bool:
        return self._reading_paused or self._writing_paused

    def _charge(self, count: int) -> None:
        self._charged_bytes += count
        self._pool.bodies_bytes += count

    def _handle(self, parsed: list[Parsed], phase_before: Phase) -> None:
        reader = self._reader
        unfinished = reader.body_bytes
        fresh = unfinished - self._unfinished_bytes
        fresh += sum(len(item.body) for item, _ in parsed if isinstance(item, Request))
        self._unfinished_bytes = unfinished
        self._charge(fresh)
        has_much = self._charged_bytes > self._pool.limits.body_bytes_granted
        if fresh and has_much and self._pool.is_out_of_memory:
            # Refused rather than paused: pausing could leave all of them half received.
            parsed = reader.refuse(503, "Too many requests are in progress. Try again later.")
        if parsed:
            self._queue.extend(parsed)
            self._advance()
        elif reader.phase != phase_before:
            self._arm()
            self._continue_if_owed()

    def _advance(self) -> None:
        """Handles received requests as far as they can be answered, and the answers sent, now."""
        answers = [self._late_answer] if self._late_answer else []
        self._late_answer = b""
        size = 0
        while self._queue and self._waiting is None and not self._writing_paused:
            item, keep_alive = self._queue.popleft()
            answer = self._answer(item, keep_alive)
            if answer is None:
                break
            if isinstance(item, Request) and item.body:
                self._charge(-len(item.body))
            answers.append(answer)
            size += len(answer)
            if size >= WRITE_BYTES_MAX:
                # Many small requests can have large answers: first see if the client reads them.
                self._transport.write(b"".join(answers))
                answers, size = [], 0
            if self._finished:
                break
        if answers:
            self._transport.write(b"".join(answers))
        self._settle()

    def _answer(self, item: Request | Response, keep_alive: bool) -> bytes | None:
        """The encoded answer; None if the handler has to wait."""
        if isinstance(item, Response):
            return self._encode(item, keep_alive)
        try:
            response = self._pool.handler(item)
        except Exception as failure:
            response = self._failed(failure)
        is_head = item.method == "HEAD"
        self._waiting_request = (len(item.body), keep_alive, is_head)
        if isinstance(response, Deferred):
            if response.response is None:
                self._waiting = response
                response.hand_to(self._take)
                return None
            response = response.response
        elif not isinstance(response, Response):
            task = self._waiting = self._loop.create_task(response)
            task.add_done_callback(self._take_result)
            return None
        return self._encode(response, keep_alive, is_head=is_head)

    def _take_result(self, task: asyncio.Task[Response]) -> None:
        if task.cancelled():
            response = refusal(503, "The request was abandoned.")
        elif failure := task.exception():
            response = self._failed(failure)
        else:
            response = task.result()
        self._take(response)

    def _take(self, response: Response) -> None:
        """Sends the answer that was waited for."""
        self._waiting = None
        if self._transport.is_closing():
            return
        count, keep_alive, is_head = self._waiting_request
        # Inlined `_charge`.
        self._charged_bytes -= count
        pool = self._pool
        pool.bodies_bytes -= count
        if keep_alive and not (is_head or pool.closing):
            # Inlined `_encode`.
            answer = encode(response, pool.date_header)
        else:
            answer = self._encode(response, keep_alive, is_head=is_head)
        if self._queue and not self._finished:
            # Later in this turn: the next handler must not run inside the code that completes a
            # Deferred, and its answer can leave in the same write.
            self._late_answer = answer
            self._loop.call_soon(self._go_on)
            return
        self._transport.write(answer)
        if (
            self._finished
            or self._reading_paused
            or self._writing_paused
            or self._reader.phase != "idle"
        ):
            self._settle()
        else:
            self.deadline = pool.idle_deadline

    def _go_on(self) -> None:
        if not self._transport.is_closing():
            self._advance()

    def _failed(self, failure: BaseException) -> Response:
        """Reports a handler's bug in full; its client gets one error answer."""
        self._loop.call_exception_handler(
            {"message": "an HTTP handler failed", "exception": failure, "protocol": self}
        )
        return refusal(500, "The server failed to handle this request.")

    def _encode(self, response: Response, keep_alive: bool, *, is_head: bool = False) -> bytes:
        pool = self._pool
        if pool.closing or not keep_alive:
            self._finished = True
        return encode(response, pool.date_header, keep_alive=not self._finished, is_head=is_head)

    def _settle(self) -> None:
        """Closes, pauses or resumes reading, and sets the deadline, as the state requires."""
        if self._finished:
            self._finish()
            return
        if self._reading_paused or self._queue:
            self._regulate_reading()
        if not self._writing_paused:
            self._arm()
        if self._reader.continue_owed:
            self._continue_if_owed()

    def _regulate_reading(self) -> None:
        full = len(self._queue) >= self._pool.limits.pipelined_max
        if full and not self._reading_paused:
            self._transport.pause_reading()
        elif self._reading_paused and not full:
            self._transport.resume_reading()
        self._reading_paused = full

    def _continue_if_owed(self) -> None:
        if self._reader.continue_owed and not self._is_busy:
            self._reader.continue_owed = False
            self._transport.write(CONTINUE)

    def _turn_away(self) -> None:
        self._finished = True
        full = refusal(503, "Too many connections. Try again later.")
        self._transport.write(encode(full, self._pool.date_header, keep_alive=False))
        self._transport.close()

    def _finish(self) -> None:
        """Ends the connection once the client has its answers, and time to read them."""
        self._queue.clear()
        limits = self._pool.limits
        is_sent = self._transport.get_write_buffer_size() == 0
        wait = limits.linger_seconds_max if is_sent else limits.write_seconds_max
        self.deadline = self._pool.now + wait
        if self._transport.can_write_eof():
            # Closing with unread bytes would reset the connection, and the answer might be lost.
            self._transport.write_eof()
        else:
            self._transport.close()

    def _arm(self) -> None:
        self.deadline = self._pool.deadline(self._reader.phase, is_busy=self._is_busy)


def _peer_of(transport: asyncio.BaseTransport) -> str:
    name = transport.get_extra_info("peername")
    if not isinstance(name, tuple):
        return ""
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
