"""HTTP requests and answers, as doors receive them and as pushes send them.

adapters/http.py carries the former, adapters/http_client.py the latter.
"""

from collections.abc import Callable, Coroutine, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Protocol

import msgspec

Headers = dict[bytes, bytes]
"""Header values by lower-case name. A repeated header has its values joined by a comma."""


class Memo:
    """Memory of a handler about similar requests of one connection.

    Their heads are the same but for values that differ from request to request, such as lengths,
    dates and signatures.
    """

    __slots__ = ("serve",)

    def __init__(self) -> None:
        self.serve: Callable[[bytes], Deferred] | None = None
        """Serves the later requests from their bodies alone; None if they are handled as any
        other."""


class Request(msgspec.Struct):
    """HTTP request. A Struct, which is made in a third of the time that a class of our own
    takes."""

    method: str
    path: str
    """Path as sent, still percent-encoded: signatures are made over these very characters."""
    query: str
    """Query string after '?', as sent."""
    headers: Headers
    body: bytes
    peer: str
    """host:port of the other side."""
    memo: Memo | None = None
    """Memory shared with similar requests; None if no such request is known."""


def header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Headers as bytes to send, each ended by a line break."""
    lines = b"\r\n".join((*map(b": ".join, headers), b""))
    # A line break inside a value would let a client inject headers, or a whole answer.
    count = len(headers)
    assert lines.count(b"\n") == lines.count(b"\r") == count, "a header holds a line break"
    return lines


class Response(msgspec.Struct):
    status: int
    headers: Sequence[tuple[bytes, bytes]] | bytes
    """Headers without Content-Length, Connection and Date, which the server adds; or lines made by
    `header_lines`."""
    body: bytes


class Deferred(msgspec.Struct, eq=False, kw_only=True):
    """Answer that comes later, without a task. Complete on return, it costs as a Response.

    A handler returns it; the code that later finds the answer completes it, on the event loop's
    thread.
    """

    response: Response | None = None
    on_abandoned: Callable[[], None] | None = None
    """Called, once, if the client disconnects before it is answered."""
    pending: dict[Any, None] | None = None
    """Collection that holds it until it is answered or abandoned."""
    taker: Callable[[Response], None] | None = None
    is_abandoned: bool = False

    def complete(self, response: Response) -> None:
        """Gives the answer, at most once; it is dropped if the client has disconnected."""
        if self.pending is not None:
            self.pending.pop(self, None)
        if self.is_abandoned:
            return
        assert self.response is None, "a request has one answer"
        self.response = response
        # The callback's owner often completes this, too: a cycle, which would keep the answer until
        # the garbage collector finds it.
        self.on_abandoned = None
        if self.taker is not None:
            self.taker(response)

    # Called by the server.

    def hand_to(self, taker: Callable[[Response], None]) -> None:
        """Sends the response, which is not there yet, to `taker` from within `complete`."""
        assert self.response is None
        self.taker = taker

    def abandon(self) -> None:
        """Notes that the client has disconnected; no effect if it was answered before."""
        if self.pending is not None:
            self.pending.pop(self, None)
        if self.response is None and not self.is_abandoned:
            self.is_abandoned = True
            on_abandoned, self.on_abandoned = self.on_abandoned, None
            if on_abandoned is not None:
                on_abandoned()


Handler = Callable[[Request], Response | Deferred | Coroutine[Any, Any, Response]]
"""Answers at once or, if it has to wait, by a Deferred or as a coroutine.

The coroutine is cancelled if the client disconnects before it is done.
"""


class PushFailed(Exception):
    """Push without an answer. The text says why, and names nothing of the URL but its host."""


Allow = Callable[[str, IPv4Address | IPv6Address, int], bool]
"""Returns True if a URL's host may be contacted at this resolved address and port."""


class Poster(Protocol):
    async def post(
        self,
        url: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        *,
        timeout_s: float,
        allow: Allow,
    ) -> int:
        """Posts and returns the status of the answer; its body, and any redirect, is ignored.

        Raises PushFailed if there is no answer.
        """
        ...
