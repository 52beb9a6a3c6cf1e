"""Connection to a push endpoint, for one request after another.

A request is answered when the head of the answer is complete. The body is read afterwards, and the
connection can be used again at its end.
"""

import asyncio
from ipaddress import IPv4Address, IPv6Address
from typing import cast

from duolog.adapters.http_answer import AnswerReader, BadAnswer

IpAddress = IPv4Address | IPv6Address


class Closed(Exception):
    """The endpoint closed the connection before it had answered."""

    def __init__(self, answer_had_begun: bool) -> None:
        super().__init__("it closed the connection without an answer")
        self.answer_had_begun = answer_had_begun


class PostConnection(asyncio.Protocol):
    def __init__(self, address: IpAddress, loop: asyncio.AbstractEventLoop) -> None:
        self.address = address
        self._loop = loop
        self.made_at = loop.time()
        self._transport: asyncio.Transport | None = None
        self._answer: AnswerReader | None = None
        """Reader of the current answer; None between two requests."""
        self._waiter: asyncio.Future[int] | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def is_free(self) -> bool:
        """True if the next request can be sent."""
        return self._answer is None and self.is_open

    async def ask(self, head: bytes, body: bytes) -> int:
        """The status of the answer. Raises Closed or BadAnswer."""
        assert self._answer is None
        assert self._transport is not None
        self._answer = AnswerReader()
        self._waiter = self._loop.create_future()
        self._transport.write(head)
        self._transport.write(body)
        return await self._waiter

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # Called by the event loop.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports have the methods, but not the class.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        answer = self._answer
        if answer is None:
            # Unsolicited bytes would be taken for the next answer.
            self.abort()
            return
        try:
            answer.feed(data)
        except BadAnswer as problem:
            self._fail(problem)
            self.abort()
            return
        if answer.status is not None and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(answer.status)
        if answer.is_over:
            self.abort()
        elif answer.is_complete:
            answer.close()
            self._answer = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None:
            self._fail(Closed(self._answer.has_begun))
            self._answer.close()
            self._answer = None

    def _fail(self, problem: Exception) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(problem)
