"""A blocking NATS client for what surrounds a run: streams are made before it, dropped after."""

import json
import socket
from typing import Any

INBOX = "_INBOX.bench"


class NatsClient:
    def __init__(self, address: tuple[str, int], *, timeout_seconds: float) -> None:
        self._socket = socket.create_connection(address, timeout=timeout_seconds)
        self._stream = self._socket.makefile("rb")
        self._stream.readline()
        self._socket.sendall(b'CONNECT {"verbose":false}\r\nSUB %b 1\r\n' % INBOX.encode())

    def _publish(self, subject: str, payload: bytes) -> None:
        head = f"PUB {subject} {INBOX} {len(payload)}\r\n".encode()
        self._socket.sendall(head + payload + b"\r\n")

    def _receive(self) -> bytes:
        """The payload of the next message to the inbox."""
        while True:
            line = self._stream.readline()
            if line.startswith(b"MSG "):
                return self._stream.read(int(line.split()[-1]) + 2)[:-2]
            if line.startswith(b"PING"):
                self._socket.sendall(b"PONG\r\n")
            elif not line or line.startswith((b"-ERR", b"HMSG")):
                raise ConnectionError(f"NATS said {line!r}")

    def ask(self, api: str, request: dict[str, Any]) -> dict[str, Any]:
        """One call of JetStream's API."""
        self._publish(f"$JS.API.{api}", json.dumps(request).encode())
        answer: dict[str, Any] = json.loads(self._receive())
        if "error" in answer:
            raise ConnectionError(f"{api} was refused: {answer['error']}")
        return answer

    def close(self) -> None:
        self._stream.close()
        self._socket.close()
