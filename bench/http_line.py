"""One kept HTTP connection, blocking: for what is paced by its answers and not by load."""

import socket
from types import TracebackType
from typing import Self

TIMEOUT_SECONDS = 60.0
_RECEIVE_BYTES = 1 << 18
_ANSWER_BYTES_MAX = 16 << 20
_HEAD_END = b"\r\n\r\n"
_LENGTH = b"content-length:"


class BadAnswer(Exception):
    """What came is no answer, or one of another status than 200."""


class Line:
    """At most one request is unanswered at any time."""

    def __init__(
        self, address: tuple[str, int], *, timeout_seconds: float = TIMEOUT_SECONDS
    ) -> None:
        self._socket = socket.create_connection(address, timeout=timeout_seconds)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, request: bytes) -> bytes:
        """The body of the answer."""
        self.send(request)
        return self.receive()

    def send(self, request: bytes) -> None:
        self._socket.sendall(request)

    def receive(self) -> bytes:
        data = self._more(b"")
        while (head_end := data.find(_HEAD_END)) < 0:
            data = self._more(data)
        head, start = data[:head_end], head_end + len(_HEAD_END)
        end = start + _content_length(head)
        while len(data) < end:
            data = self._more(data)
        body = data[start:end]
        if head.split(b" ", 2)[1] != b"200":
            raise BadAnswer(body.decode(errors="replace"))
        return body

    def _more(self, data: bytes) -> bytes:
        piece = self._socket.recv(_RECEIVE_BYTES)
        if not piece or len(data) > _ANSWER_BYTES_MAX:
            raise BadAnswer("the answer has no end")
        return data + piece

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._socket.close()


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(_LENGTH):
            return int(line.removeprefix(_LENGTH))
    raise BadAnswer("the answer does not say how long it is")
