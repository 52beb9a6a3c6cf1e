"""Turns the bytes of one connection into requests, or into the reason why not. No IO.

httptools finds the structure; the bounds are here.
"""

from typing import Literal

import httptools

from duolog.adapters.http_pool import HttpLimits
from duolog.adapters.http_response import refusal
from duolog.ports.http import Request, Response

Phase = Literal["idle", "head", "body", "deaf"]
"""What is being received. A deaf reader takes nothing more: it refused, or the client is done."""

_METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")}
_VERSIONS = ("1.0", "1.1")
_STOPS = (httptools.HttpParserError, httptools.HttpParserUpgrade)


Parsed = tuple[Request | Response, bool]
"""A request, or a refusal to be sent in its turn; and whether the connection goes on after."""


class _Refused(Exception):
    """Leaves the parser, after the refusal has been noted."""


class RequestReader:
    __slots__ = (
        "_fragments",
        "_head",
        "_headers",
        "_limits",
        "_parsed",
        "_parser",
        "_peer",
        "_repeats",
        "_silent_bytes",
        "_split_url",
        "_url",
        "body_bytes",
        "continue_owed",
        "phase",
    )

    def __init__(self, limits: HttpLimits, peer: str) -> None:
        self._limits = limits
        self._peer = peer
        self._parser = httptools.HttpRequestParser(self)
        self._parsed: list[Parsed] = []
        self._silent_bytes = 0
        """Bytes fed since a phase ended or a body grew: unfinished heads, trailers and the like."""
        self.continue_owed = False
        """Whether the client waits for "100 Continue" before it sends its body."""
        self.phase: Phase = "idle"
        self._split_url = (b"/", "/", "")
        """The last target with its path and query: most clients have only one."""
        self._start_message()

    def feed(self, data: bytes) -> list[Parsed]:
        """Requests that these bytes complete; the last may be a refusal, and then is the end."""
        if self.phase == "deaf":
            return []
        self._parsed = parsed = []
        self._silent_bytes += len(data)
        phase, body_bytes = self.phase, self.body_bytes
        try:
            self._parser.feed_data(data)
        except _STOPS as problem:
            self._stopped(data, problem)
        if parsed or self.phase != phase or self.body_bytes != body_bytes:
            self._silent_bytes = 0
        elif self._silent_bytes > self._limits.head_bytes_max:
            parsed += self.refuse(431, "The headers of the request are too long.")
        return parsed

    def refuse(self, status: int, reason: str) -> list[Parsed]:
        """Take nothing more, and send this."""
        self.phase = "deaf"
        self.continue_owed = False
        self._start_message()
        return [(refusal(status, reason), False)]

    def _stopped(self, data: bytes, problem: Exception) -> None:
        """The parser went no further, or nothing of what follows is for it."""
        while isinstance(problem, httptools.HttpParserUpgrade):
            # An offer to switch protocols is declined by answering as usual.
            self._decline_upgrade()
            data = data[problem.args[0] :]
            if not data or self.phase == "deaf":
                return
            try:
                self._parser.feed_data(data)
            except _STOPS as next_problem:
                problem = next_problem
            else:
                return
        if isinstance(problem, httptools.HttpParserCallbackError):
            if not isinstance(problem.__context__, _Refused):
                raise problem
        elif self.phase != "deaf":
            # Bytes after a request that asked to close are nobody's, and so are their mistakes.
            self._parsed += self.refuse(400, f"The request is malformed: {problem}.")

    def _decline_upgrade(self) -> None:
        request, _ = self._parsed[-1]
        assert isinstance(request, Request)
        self._parser = httptools.HttpRequestParser(self)
        if request.method == "CONNECT" or _declares_body(request.headers):
            # The parser takes the body for the other protocol's first bytes.
            self._parsed.pop()
            self._parsed += self.refuse(501, "This server does not switch protocols.")

    def _start_message(self) -> None:
        self._url = b""
        self._headers: dict[bytes, bytes] = {}
        self._fragments: list[bytes] = []
        self.body_bytes = 0
        """Of the request that is not complete yet."""
        self._repeats = 0

    def _refuse_here(self, status: int, reason: str) -> None:
        self._parsed += self.refuse(status, reason)
        raise _Refused

    # Called by the parser.

    def on_url(self, fragment: bytes) -> None:
        self.phase = "head"
        self._url += fragment

    def on_header(self, name: bytes, value: bytes) -> None:
        headers = self._headers
        name = name.lower()
        if name in headers:
            value = self._join_repeated(headers[name], value)
        headers[name] = value

    def on_headers_complete(self) -> None:
        self._head = headers = self._headers
        # Trailers, which come after the body, go to a dictionary that nobody looks at.
        self._headers = {}
        limits = self._limits
        if len(headers) > limits.headers_max:
            self._refuse_too_many()
        if self._silent_bytes > limits.head_bytes_max:
            self._check_head_bytes(headers)
        if b"host" not in headers and self._parser.get_http_version() == "1.1":
            self._refuse_here(400, "An HTTP/1.1 request needs a Host header.")
        if b"content-length" in headers:
            if int(headers[b"content-length"]) > limits.body_bytes_max:
                self._refuse_body()
            self.phase = "body"
        elif b"transfer-encoding" in headers:
            self.phase = "body"
        if b"expect" in headers:
            if headers[b"expect"].lower() != b"100-continue":
                self._refuse_here(417, "Only 100-continue can be expected.")
            self.continue_owed = self.phase == "body"

    def on_body(self, fragment: bytes) -> None:
        self.body_bytes += len(fragment)
        if self.body_bytes > self._limits.body_bytes_max:
            self._refuse_body()
        self._fragments.append(fragment)

    def on_message_complete(self) -> None:
        parser = self._parser
        method = parser.get_method()
        keep_alive = parser.should_keep_alive()
        if not keep_alive and parser.get_http_version() not in _VERSIONS:
            self._refuse_here(505, "This server speaks HTTP/1.1.")
        url, path, query = self._split_url
        if self._url != url:
            path, query = _split_target(self._url)
            self._split_url = (self._url, path, query)
        fragments = self._fragments
        body = fragments[0] if len(fragments) == 1 else b"".join(fragments)
        known = _METHODS.get(method) or method.decode("ascii")
        request = Request(known, path, query, self._head, body, self._peer)
        self._parsed.append((request, keep_alive))
        self._url = b""
        self._fragments = []
        self.body_bytes = 0
        if self._headers or self._repeats:
            self._start_message()
        self.continue_owed = False
        self.phase = "idle" if keep_alive else "deaf"

    def _join_repeated(self, values: bytes, value: bytes) -> bytes:
        self._repeats += 1
        if self._repeats > self._limits.headers_max:
            self._refuse_too_many()
        return values + b"," + value

    def _check_head_bytes(self, headers: dict[bytes, bytes]) -> None:
        """Exactly, where what was fed leaves it open."""
        size = len(self._url) + sum(len(name) + len(value) for name, value in headers.items())
        if size > self._limits.head_bytes_max:
            self._refuse_here(431, f"Headers have at most {self._limits.head_bytes_max} bytes.")

    def _refuse_too_many(self) -> None:
        self._refuse_here(431, f"A request has at most {self._limits.headers_max} headers.")

    def _refuse_body(self) -> None:
        self._refuse_here(413, f"A body has at most {self._limits.body_bytes_max} bytes.")


def _declares_body(headers: dict[bytes, bytes]) -> bool:
    return b"content-length" in headers or b"transfer-encoding" in headers


def _split_target(target: bytes) -> tuple[str, str]:
    """Path and query of a request target, also of the absolute form that proxies are sent."""
    text = target.decode("latin-1")
    if text[0] != "/" and "://" in text:
        authority_and_path = text.split("://", 1)[1]
        slash = authority_and_path.find("/")
        text = authority_and_path[slash:] if slash >= 0 else "/"
    path, _, query = text.partition("?")
    return path, query
