"""HTTP/1.1 client of one address, over one keep-alive connection, without pipelining."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, TracebackType
from typing import Self

import httptools

from duolog.client.errors import Endpoint, Garbled, Unreachable, endpoint_text, reason_of

BODY_BYTES_MAX = 64 << 20
HEADERS_BYTES_MAX = 64 << 10
CONNECT_SECONDS_MAX = 5.0
ANSWER_SECONDS_MAX = 30.0

_READ_BYTES = 256 << 10
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


@dataclass(slots=True)
class HttpAnswer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    """Header names are in lower case."""
    body: bytes = b""


class HttpClient:
    """Sends one request at a time. A context manager: leaving it closes the connection."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    @property
    def host(self) -> str:
        """Value of the Host header."""
        return endpoint_text(self.endpoint)

    async def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str] = _NO_HEADERS,
        body: bytes = b"",
        *,
        seconds_max: float = ANSWER_SECONDS_MAX,
    ) -> HttpAnswer:
        """Sends one request; `target` is the encoded path and query, header names are lower case.

        Never retries: the server may have done the request although its answer was lost.
        """
        lines = [f"{method} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in {"host": self.host, **headers}.items()]
        lines += [f"content-length: {len(body)}", "", ""]
        try:
            async with asyncio.timeout(seconds_max):
                reader, writer = await self._connected()
                writer.write("\r\n".join(lines).encode() + body)
                await writer.drain()
                parser = await self._receive(reader)
        except TimeoutError:
            self.close()
            raise Unreachable(self.endpoint, f"did not answer within {seconds_max:g} s") from None
        except OSError as error:
            self.close()
            raise Unreachable(self.endpoint, f"went away: {reason_of(error)}") from None
        except BaseException:
            self.close()
            raise
        if not parser.keeps_alive:
            self.close()
        return parser.answer

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is not None and self._streams[0].at_eof():
            self.close()
        if self._streams is None:
            host, port = self.endpoint
            try:
                async with asyncio.timeout(CONNECT_SECONDS_MAX):
                    self._streams = await asyncio.open_connection(host, port)
            except TimeoutError:
                reason = f"did not accept a connection within {CONNECT_SECONDS_MAX:g} s"
                raise Unreachable(self.endpoint, reason) from None
            except OSError as error:
                raise Unreachable(
                    self.endpoint, f"cannot be connected to: {reason_of(error)}"
                ) from None
        return self._streams

    async def _receive(self, reader: asyncio.StreamReader) -> "_AnswerParser":
        parser = _AnswerParser()
        try:
            while not parser.is_complete:
                data = await reader.read(_READ_BYTES)
                if not data:
                    raise Unreachable(self.endpoint, "closed the connection without an answer")
                parser.feed(data)
        except httptools.HttpParserCallbackError as error:
            # httptools hides the exception of our callback behind an error without a reason.
            raise Garbled(f"the answer of {self.host} {error.__context__}") from None
        except httptools.HttpParserError:
            raise Garbled(f"the address {self.host} does not answer in HTTP") from None
        return parser

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _TooLong(Exception):
    """The answer exceeds a limit. The text continues "the answer of <host>"."""


class _AnswerParser:
    """Collects one answer; httptools calls the `on_...` methods by name."""

    def __init__(self) -> None:
        self.answer = HttpAnswer()
        self.is_complete = False
        self.keeps_alive = False
        self._body = bytearray()
        self._header_bytes = 0
        self._parser = httptools.HttpResponseParser(self)

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes += len(name) + len(value)
        if self._header_bytes > HEADERS_BYTES_MAX:
            raise _TooLong(f"has more than {HEADERS_BYTES_MAX} bytes of headers")
        self.answer.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, data: bytes) -> None:
        self._body += data
        if len(self._body) > BODY_BYTES_MAX:
            raise _TooLong(f"has more than {BODY_BYTES_MAX} bytes")

    def on_message_complete(self) -> None:
        self.answer.status = self._parser.get_status_code()
        self.answer.body = bytes(self._body)
        self.keeps_alive = self._parser.should_keep_alive()
        self.is_complete = True
