"""Parses the bytes of one connection into requests, or into a refusal. No IO.

httptools parses the syntax; the limits are here.
"""

import httptools

from duolog.adapters.http_pattern import HeadPattern, HeadPatterns
from duolog.adapters.http_pool import HttpLimits, Phase
from duolog.adapters.http_response import refusal
from duolog.ports.http import Memo, Request, Response

Parsed = tuple[Request | Response, bool]
"""A request, or a refusal to be sent in its turn; True if the connection stays open after it."""

Known = tuple[bytes, HeadPattern, Memo]
"""Body, head pattern, and memory of similar requests, of a recognised request."""

PATTERNS_TRIED_MAX = 8
LESSONS_MAX = 64
"""Limit of patterns learned per connection. One that carries all sorts of requests, as a proxy's
may, gains nothing from more."""

_METHODS = {name.encode(): name for name in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS")}
_VERSIONS = ("1.0", "1.1")
_STOPS = (httptools.HttpParserError, httptools.HttpParserUpgrade)


class _Refused(Exception):
    """Exception that leaves the parser with a status and a reason."""


class RequestReader:
    """Reader of one connection, optimised for requests that arrive whole.

    Target, fields and body go into lists as they come; an unfinished request is only examined after
    each read. A request that looks like an earlier one skips the parser.
    """

    __slots__ = (
        "_body",
        "_fields",
        "_fresh_body",
        "_has_begun",
        "_headers",
        "_last_target",
        "_lessons_left",
        "_limits",
        "_parsed",
        "_parser",
        "_patterns",
        "_peer",
        "_repeats",
        "_seen",
        "_silent_bytes",
        "_target",
        "continue_owed",
        "on_body",
        "on_url",
        "phase",
    )

    def __init__(self, limits: HttpLimits, peer: str, patterns: HeadPatterns | None = None) -> None:
        """`patterns` are those shared by a server's connections."""
        self._limits = limits
        self._peer = peer
        self._patterns = patterns or HeadPatterns()
        self._seen: list[tuple[HeadPattern, Memo]] = []
        """Patterns of the last requests that arrived whole; the latest first."""
        self._lessons_left = LESSONS_MAX
        self._has_begun = False
        """True while the parser is in the middle of a request."""
        self._parsed: list[Parsed] = []
        self._target: list[bytes] = []
        """Pieces of the target; not empty from the first bytes of a request to its end."""
        self._fields: dict[bytes, bytes] = {}
        """Headers so far or, after a chunked body, trailers, which are ignored."""
        self._repeats = 0
        self._headers = self._fields
        self._fresh_body: list[bytes] = []
        self._body = bytearray()
        """Body from earlier reads. Not a list, as a client could send it in tiny pieces."""
        self._silent_bytes = 0
        """Bytes fed since a phase ended or a body grew: unfinished heads, trailers and the like."""
        self._last_target = (b"/", "/", "")
        """Last target with its path and query; most clients have only one."""
        self.continue_owed = False
        """True if the client waits for "100 Continue" before it sends its body."""
        self.phase: Phase = "idle"
        self.on_url = self._target.append
        self.on_body = self._fresh_body.append
        self._parser = httptools.HttpRequestParser(self)

    @property
    def body_bytes(self) -> int:
        """Number of bytes received of a body that is not complete."""
        return len(self._body)

    def feed(self, data: bytes) -> list[Parsed]:
        """Requests that these bytes complete; the last may be a refusal, which ends the
        connection."""
        phase = self.phase
        if phase == "deaf":
            return []
        is_start = not self._has_begun
        parsed: list[Parsed] = []
        self._parsed = parsed
        self._silent_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except _STOPS as problem:
            self._stopped(data, problem)
        else:
            if is_start and len(parsed) == 1 and not self._has_begun and self._lessons_left:
                self._learn(data)
        if self._target:
            self._look_at_unfinished()
        if parsed or self.phase != phase:
            self._silent_bytes = 0
        elif self._silent_bytes > self._limits.head_bytes_max:
            parsed += self.refuse(431, "The headers of the request are too long.")
        return parsed

    def recognize(self, data: bytes) -> Known | None:
        """A request that is all of the data and looks like an earlier one; it must not be fed."""
        if self._has_begun or self.phase == "deaf":
            return None
        for pattern, memo in self._seen:
            body = pattern.body_of(data)
            if body is not None and len(body) <= self._limits.body_bytes_max:
                if pattern is not self._seen[0][0]:
                    self._note(pattern, memo)
                return body, pattern, memo
        return None

    def request_of(self, data: bytes, known: Known) -> Request:
        """The request in data that was recognised."""
        body, pattern, memo = known
        return pattern.request(data, body, self._peer, memo)

    def _learn(self, data: bytes) -> None:
        """Learns the pattern of a request that arrived whole."""
        request, keep_alive = self._parsed[0]
        if keep_alive and isinstance(request, Request):
            self._lessons_left -= 1
            pattern = self._patterns.of(request, data)
            if pattern is not None:
                self._note(pattern, Memo())

    def _note(self, pattern: HeadPattern, memo: Memo) -> None:
        """Moves a pattern to the front: the next request probably looks the same."""
        seen = [each for each in self._seen if each[0] is not pattern]
        self._seen = [(pattern, memo), *seen[: PATTERNS_TRIED_MAX - 1]]

    def close(self) -> None:
        """Ends the parsing: reader and parser refer to each other, and the garbage collector would
        free the leftovers of a busy door late."""
        del self._parser

    def refuse(self, status: int, reason: str) -> list[Parsed]:
        """Stops reading, and returns the refusal to send."""
        self.phase = "deaf"
        self.continue_owed = False
        self._target.clear()
        self._fields = {}
        self._fresh_body.clear()
        self._body = bytearray()
        return [(refusal(status, reason), False)]

    def _look_at_unfinished(self) -> None:
        if self.phase == "idle":
            self.phase = "head"
        if self._fresh_body:
            self._silent_bytes = 0
            self._body += b"".join(self._fresh_body)
            self._fresh_body.clear()
        if len(self._body) > self._limits.body_bytes_max:
            self._parsed += self.refuse(*self._too_long_a_body())
        elif len(self._fields) > self._limits.headers_max:
            self._parsed += self.refuse(*self._too_many_headers())

    def _stopped(self, data: bytes, problem: Exception) -> None:
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
            self._parsed += self.refuse(*problem.__context__.args)
        elif self.phase != "deaf":
            # Bytes after a request that asked to close are ignored, and so are their mistakes.
            self._parsed += self.refuse(400, f"The request is malformed: {problem}.")

    def _decline_upgrade(self) -> None:
        request, _ = self._parsed[-1]
        assert isinstance(request, Request)
        self._parser = httptools.HttpRequestParser(self)
        headers = request.headers
        has_body = b"content-length" in headers or b"transfer-encoding" in headers
        if has_body or request.method == "CONNECT":
            # The parser takes the body for the other protocol's first bytes.
            self._parsed.pop()
            self._parsed += self.refuse(501, "This server does not switch protocols.")

    # Called by the parser.

    def on_message_begin(self) -> None:
        self._has_begun = True

    def on_header(self, name: bytes, value: bytes) -> None:
        fields = self._fields
        name = name.lower()
        if name in fields:
            self._repeats += 1
            if self._repeats > self._limits.headers_max:
                raise _Refused(*self._too_many_headers())
            if name == b"host":
                raise _Refused(400, "A request has one Host header.")
            value = fields[name] + b"," + value
        fields[name] = value

    def on_headers_complete(self) -> None:
        limits = self._limits
        self._headers = headers = self._fields
        self._fields = {}
        if len(headers) > limits.headers_max:
            raise _Refused(*self._too_many_headers())
        if self._silent_bytes > limits.head_bytes_max:
            self._check_head_bytes()
        if b"host" not in headers and self._parser.get_http_version() == "1.1":
            raise _Refused(400, "An HTTP/1.1 request needs a Host header.")
        if b"content-length" in headers:
            if int(headers[b"content-length"]) > limits.body_bytes_max:
                raise _Refused(*self._too_long_a_body())
            self.phase = "body"
        elif b"transfer-encoding" in headers:
            self.phase = "body"
        if b"expect" in headers:
            if headers[b"expect"].lower() != b"100-continue":
                raise _Refused(417, "Only 100-continue can be expected.")
            self.continue_owed = self.phase == "body"

    def on_message_complete(self) -> None:
        parser = self._parser
        method = parser.get_method()
        keep_alive = parser.should_keep_alive()
        if not keep_alive and parser.get_http_version() not in _VERSIONS:
            raise _Refused(505, "This server speaks HTTP/1.1.")
        target = b"".join(self._target)
        self._target.clear()
        known, path, query = self._last_target
        if target != known:
            path, query = _split_target(target)
            self._last_target = (target, path, query)
        body = b"".join(self._fresh_body)
        self._fresh_body.clear()
        if self._body:
            body = bytes(self._body + body)
            self._body = bytearray()
        if len(body) > self._limits.body_bytes_max:
            raise _Refused(*self._too_long_a_body())
        name = _METHODS.get(method) or method.decode("ascii")
        request = Request(name, path, query, self._headers, body, self._peer)
        self._parsed.append((request, keep_alive))
        if self._fields:
            self._fields = {}
        self._repeats = 0
        self._has_begun = False
        self.continue_owed = False
        self.phase = "idle" if keep_alive else "deaf"

    def _check_head_bytes(self) -> None:
        """Checks the exact size of the head, when the bytes fed do not settle it."""
        size = sum(map(len, self._target))
        size += sum(len(name) + len(value) for name, value in self._headers.items())
        if size > self._limits.head_bytes_max:
            raise _Refused(431, f"Headers have at most {self._limits.head_bytes_max} bytes.")

    def _too_many_headers(self) -> tuple[int, str]:
        return 431, f"A request has at most {self._limits.headers_max} headers."

    def _too_long_a_body(self) -> tuple[int, str]:
        return 413, f"A body has at most {self._limits.body_bytes_max} bytes."


def _split_target(target: bytes) -> tuple[str, str]:
    """Path and query of a request target, also of the absolute form that proxies receive."""
    text = target.decode("latin-1")
    if text[0] != "/" and "://" in text:
        authority_and_path = text.split("://", 1)[1]
        slash = authority_and_path.find("/")
        text = authority_and_path[slash:] if slash >= 0 else "/"
    path, _, query = text.partition("?")
    return path, query
