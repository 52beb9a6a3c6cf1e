"""An SQS client of a few lines: one connection, the JSON protocol, no retries, and fast."""

import json
import socket
from typing import Any

ANSWER_SECONDS_MAX = 30.0
_END = b"\r\n\r\n"


class Refused(AssertionError):
    """The node answered with an error."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        self.code = str(answer.get("__type", "")).rpartition("#")[2]
        super().__init__(f"{status} {self.code}: {answer.get('message')}")


class SqsLine:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._host = address.encode()
        self._socket = socket.create_connection((host, int(port)), ANSWER_SECONDS_MAX)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def call(self, action: str, **parameters: Any) -> dict[str, Any]:
        """The answer. OSError when the connection ends before it has come."""
        body = json.dumps(parameters).encode()
        self._socket.sendall(
            b"POST / HTTP/1.1\r\nHost: %b\r\nContent-Type: application/x-amz-json-1.0\r\n"
            b"X-Amz-Target: AmazonSQS.%b\r\nContent-Length: %d\r\n\r\n%b"
            % (self._host, action.encode(), len(body), body)
        )
        status, text = self._read_answer()
        answer = json.loads(text) if text else {}
        if status != 200:
            raise Refused(status, answer)
        return answer

    def _read_answer(self) -> tuple[int, bytes]:
        while (head_end := self._buffer.find(_END)) < 0:
            self._fill()
        head = self._buffer[:head_end].lower()
        length = 0
        for line in head.split(b"\r\n")[1:]:
            name, _, value = line.partition(b":")
            if name == b"content-length":
                length = int(value)
        end = head_end + len(_END) + length
        while len(self._buffer) < end:
            self._fill()
        text, self._buffer = self._buffer[end - length : end], self._buffer[end:]
        return int(head.split(b" ", 2)[1]), text

    def _fill(self) -> None:
        data = self._socket.recv(1 << 16)
        if not data:
            raise ConnectionResetError("the node has closed the connection")
        self._buffer += data

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> "SqsLine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
