"""An SQS client of a few lines: one connection, the JSON protocol, no retries, and fast."""

import json
import socket
from typing import Any

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

ANSWER_SECONDS_MAX = 30.0
REGION = "us-east-1"
_END = b"\r\n\r\n"


class Refused(AssertionError):
    """The node answered with an error."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        self.status = status
        self.code = str(answer.get("__type", "")).rpartition("#")[2]
        super().__init__(f"{status} {self.code}: {answer.get('message')}")


class SqsLine:
    def __init__(
        self,
        address: str,
        credentials: str | None = None,
        answer_seconds_max: float = ANSWER_SECONDS_MAX,
    ) -> None:
        """`credentials`: KEY:SECRET to sign with; a node on this machine asks for none."""
        host, _, port = address.rpartition(":")
        self._address = address
        self._signer: SigV4Auth | None = None
        if credentials is not None:
            self._signer = SigV4Auth(Credentials(*credentials.split(":", 1)), "sqs", REGION)
        self._socket = socket.create_connection((host, int(port)), answer_seconds_max)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""

    def call(self, action: str, **parameters: Any) -> dict[str, Any]:
        """The answer. OSError when the connection ends before it has come."""
        body = json.dumps(parameters).encode()
        headers = {
            "Host": self._address,
            "Content-Type": "application/x-amz-json-1.0",
            "X-Amz-Target": f"AmazonSQS.{action}",
            "Content-Length": str(len(body)),
        }
        if self._signer is not None:
            request = AWSRequest("POST", f"http://{self._address}/", headers, body)
            self._signer.add_auth(request)
            headers = dict(request.headers.items())
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self._socket.sendall(f"POST / HTTP/1.1\r\n{head}\r\n".encode() + body)
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
