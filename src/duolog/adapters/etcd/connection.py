"""One connection to one endpoint, for one request after another."""

import asyncio
import contextlib
import socket
import ssl
from collections import deque

from duolog.adapters.etcd.address import Endpoint
from duolog.adapters.etcd.answer import AnswerReader
from duolog.adapters.etcd.failures import NoAnswer, NotSent, RequestFailed
from duolog.adapters.etcd.messages import refusal

_READ_BYTES_MAX = 256 * 1024

_KEEPALIVE = {
    socket.TCP_KEEPIDLE: 1,
    socket.TCP_KEEPINTVL: 1,
    socket.TCP_KEEPCNT: 3,
}
"""Keepalive options: a watch only listens, and would otherwise never notice that the other machine
was switched off."""


class Connection:
    """Connection made by `connect`. Abort it after a failure: it cannot be used any more."""

    def __init__(
        self, endpoint: Endpoint, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._endpoint = endpoint
        self._reader = reader
        self._writer = writer

    @property
    def is_open(self) -> bool:
        return not self._reader.at_eof() and not self._writer.is_closing()

    async def ask(self, path: str, body: bytes, token: str | None) -> tuple[int, bytes]:
        """Status and body of the answer. Raises NoAnswer."""
        answer = AnswerReader()
        self._send(path, body, token)
        while not answer.is_complete:
            await self.receive(answer)
        answer.close()
        if not answer.keeps_connection:
            self.abort()
        assert answer.status is not None
        return answer.status, answer.take_body()

    def stream(self, path: str, body: bytes, token: str | None) -> "Stream":
        """Sends a request whose answer is an endless stream; the connection serves nothing else."""
        self._send(path, body, token)
        return Stream(self)

    def abort(self) -> None:
        """Closes the connection; a pending request fails with NoAnswer."""
        self._writer.transport.abort()

    def _send(self, path: str, body: bytes, token: str | None) -> None:
        authorization = f"Authorization: {token}\r\n" if token else ""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._endpoint}\r\nUser-Agent: duolog\r\n"
            f"Content-Type: application/json\r\n{authorization}Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode("ascii") + body)

    async def receive(self, answer: AnswerReader) -> None:
        """Feeds received bytes to the answer. Raises NoAnswer."""
        try:
            data = await self._reader.read(_READ_BYTES_MAX)
        except OSError as error:
            raise NoAnswer(f"the connection broke: {reason_of(error)}") from None
        if not data:
            raise NoAnswer("it closed the connection without an answer")
        answer.feed(data)


class Stream:
    """Messages of a streamed answer, one per line.

    Not a generator: the connection must be closed at once, not when the event loop finds the time.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._answer = AnswerReader()
        self._lines: deque[bytes] = deque()

    async def next(self) -> bytes:
        """The next message. Raises NoAnswer and Refused."""
        while not self._lines:
            if self._answer.is_complete:
                raise self._end()
            await self._connection.receive(self._answer)
            if self._answer.status == 200:
                self._lines += self._answer.take_lines()
        return self._lines.popleft()

    def close(self) -> None:
        self._connection.abort()
        self._answer.close()

    def _end(self) -> RequestFailed:
        if self._answer.status is not None and self._answer.status != 200:
            return refusal(self._answer.status, self._answer.take_body())
        return NoAnswer("it ended the stream")


async def connect(endpoint: Endpoint, tls: ssl.SSLContext | None) -> Connection:
    """Opens a connection; raises NotSent."""
    try:
        reader, writer = await asyncio.open_connection(
            endpoint.host, endpoint.port, ssl=tls, limit=_READ_BYTES_MAX
        )
    except (OSError, UnicodeError) as error:
        raise NotSent(f"it cannot be reached: {reason_of(error)}") from None
    connected = writer.get_extra_info("socket")
    if connected is not None:
        with contextlib.suppress(OSError):
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            for option, value in _KEEPALIVE.items():
                connected.setsockopt(socket.IPPROTO_TCP, option, value)
    return Connection(endpoint, reader, writer)


def reason_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
