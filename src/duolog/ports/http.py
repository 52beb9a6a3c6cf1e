"""HTTP requests and answers, as a door sees them, and as a push sends and gets them.

adapters/http.py carries the former, adapters/http_client.py the latter.
"""

from collections.abc import Callable, Coroutine, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Protocol

import msgspec

Headers = dict[bytes, bytes]
"""Names in lower case. A repeated header has its values joined by a comma."""


class Memo:
    """What a handler found out about requests of one connection that are alike: their heads are
    the same but for values that differ from request to request, such as lengths, dates and
    signatures."""

    __slots__ = ("serve",)

    def __init__(self) -> None:
        self.serve: Callable[[bytes], Deferred] | None = None
        """Answers others like the one that it came with; they need nothing but their bodies."""


class Request(msgspec.Struct):
    """A Struct, as Response is: it is made in a third of the time that a class of our own takes."""

    method: str
    path: str
    """As sent, still percent-encoded: signatures are made over these very characters."""
    query: str
    """What follows '?', as sent."""
    headers: Headers
    body: bytes
    peer: str
    """host:port of the other side."""
    memo: Memo | None = None
    """None for a request that is not known to be like others."""


def header_lines(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Headers as they are sent, each ended by a line break."""
    lines = b"\r\n".join((*map(b": ".join, headers), b""))
    # A line break that came in with a value would let a client write headers, or an answer.
    count = len(headers)
    assert lines.count(b"\n") == lines.count(b"\r") == count, "a header holds a line break"
    return lines


class Response(msgspec.Struct):
    status: int
    headers: Sequence[tuple[bytes, bytes]] | bytes
    """Without Content-Length, Connection and Date, which the server adds. Bytes are such lines
    as `header_lines` makes."""
    body: bytes


class Deferred(msgspec.Struct, eq=False, kw_only=True):
    """An answer that comes later, without a task. Complete on return, it costs as a Response.

    A handler returns it and whoever finds the answer completes it, from the event loop's thread.
    """

    response: Response | None = None
    on_abandoned: Callable[[], None] | None = None
    """Called, once, when the client goes before it is answered."""
    pending: dict[Any, None] | None = None
    """Where it is kept until it is answered or nobody wants it any more."""
    taker: Callable[[Response], None] | None = None
    is_abandoned: bool = False

    def complete(self, response: Response) -> None:
        """At most once; nobody hears it after the client has gone."""
        if self.pending is not None:
            self.pending.pop(self, None)
        if self.is_abandoned:
            return
        assert self.response is None, "a request has one answer"
        self.response = response
        # Whoever is told of the abandonment often completes this too: a cycle, which would keep
        # the answer until the garbage collector finds it.
        self.on_abandoned = None
        if self.taker is not None:
            self.taker(response)

    # Called by the server.

    def hand_to(self, taker: Callable[[Response], None]) -> None:
        """The response, which is not there yet, goes to `taker`, from within `complete`."""
        assert self.response is None
        self.taker = taker

    def abandon(self) -> None:
        """The client has gone. Without effect when it was answered before."""
        if self.pending is not None:
            self.pending.pop(self, None)
        if self.response is None and not self.is_abandoned:
            self.is_abandoned = True
            on_abandoned, self.on_abandoned = self.on_abandoned, None
            if on_abandoned is not None:
                on_abandoned()


Handler = Callable[[Request], Response | Deferred | Coroutine[Any, Any, Response]]
"""Answers at once or, where it has to wait, by a Deferred or as a coroutine.

The coroutine is cancelled when the client goes away before it is done.
"""


class PushFailed(Exception):
    """There was no answer. Its text says why, and names nothing of the URL but its host."""


Allow = Callable[[str, IPv4Address | IPv6Address, int], bool]
"""Whether a URL's host may be asked on the address that it was resolved to, and on the port."""


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
        """The status of the answer; what it says beyond that, and where it redirects to, is
        ignored. Raises PushFailed where there is none."""
        ...
