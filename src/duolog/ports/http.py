"""HTTP requests and answers, as a door sees them, and as a push sends and gets them.

adapters/http.py carries the former, adapters/http_client.py the latter.
"""

from collections.abc import Callable, Coroutine, Sequence
from ipaddress import IPv4Address, IPv6Address
from typing import Any, Protocol

import msgspec


class Request(msgspec.Struct):
    """A Struct, as Response is: it is made in a third of the time that a class of our own takes."""

    method: str
    path: str
    """As sent, still percent-encoded: signatures are made over these very characters."""
    query: str
    """What follows '?', as sent."""
    headers: dict[bytes, bytes]
    """Names in lower case. A repeated header has its values joined by a comma."""
    body: bytes
    peer: str
    """host:port of the other side."""


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


class Deferred:
    """An answer that comes later, without a task. Complete on return, it costs as a Response.

    A handler returns it and whoever finds the answer completes it, from the event loop's thread.
    """

    __slots__ = ("_is_abandoned", "_taker", "on_abandoned", "response")

    def __init__(self) -> None:
        self.response: Response | None = None
        self.on_abandoned: Callable[[], None] | None = None
        """Called, once, when the client goes before it is answered."""
        self._taker: Callable[[Response], None] | None = None
        self._is_abandoned = False

    def complete(self, response: Response) -> None:
        """At most once; nobody hears it after the client has gone."""
        if self._is_abandoned:
            return
        assert self.response is None, "a request has one answer"
        self.response = response
        # Whoever is told of the abandonment often completes this too: a cycle, which would keep
        # the answer until the garbage collector finds it.
        self.on_abandoned = None
        if self._taker is not None:
            self._taker(response)

    # Called by the server.

    def hand_to(self, taker: Callable[[Response], None]) -> None:
        """The response, which is not there yet, goes to `taker`, from within `complete`."""
        assert self.response is None
        self._taker = taker

    def abandon(self) -> None:
        """The client has gone. Without effect when it was answered before."""
        if self.response is None and not self._is_abandoned:
            self._is_abandoned = True
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
