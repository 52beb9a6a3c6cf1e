"""An HTTP client of a few lines that sends the SQS door exactly what it is told."""

import json
import re
import socket
from types import TracebackType
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tests.harness.wire import SECONDS_MAX, connect

JSON_TYPE = "application/x-amz-json-1.0"
FORM_TYPE = "application/x-www-form-urlencoded"
_CODE = re.compile(rb"<Code>([^<]*)</Code>")


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def fields(self) -> Any:
        return json.loads(self.body or b"{}")

    @property
    def code(self) -> str:
        """The error's code in the protocol that was asked in, without its namespace."""
        if found := _CODE.search(self.body):
            return found[1].decode()
        return str(self.fields["__type"]).rpartition("#")[2]


def http_request(body: bytes, *, method: str = "POST", path: str = "/", **headers: str) -> bytes:
    """Underscores in the names of headers are hyphens."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join((*lines, "\r\n")).encode("latin-1") + body


def json_request(action: str, body: bytes | dict[str, Any]) -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return http_request(data, X_Amz_Target=f"AmazonSQS.{action}", Content_Type=JSON_TYPE)


def query_request(action: str, form: bytes | dict[str, Any]) -> bytes:
    data = form if isinstance(form, bytes) else urlencode(form).encode()
    head = f"Action={action}&Version=2012-11-05&".encode()
    return http_request(head + data, Content_Type=FORM_TYPE)


class SqsWire:
    """One connection. Calls wait for their answer; bytes are sent as they are."""

    def __init__(self, address: str, *, seconds_max: float = SECONDS_MAX) -> None:
        self.socket: socket.socket = connect(address, seconds_max=seconds_max)
        self._buffer = bytearray()

    def json(self, action: str, body: bytes | dict[str, Any]) -> Answer:
        return self.ask(json_request(action, body))

    def query(self, action: str, form: bytes | dict[str, Any]) -> Answer:
        return self.ask(query_request(action, form))

    def ask(self, data: bytes) -> Answer:
        self.socket.sendall(data)
        answer = self.read()
        assert answer is not None, "the connection was closed instead of an answer"
        return answer

    def read(self) -> Answer | None:
        """The next answer; None when the connection was closed."""
        while (end := self._buffer.find(b"\r\n\r\n")) < 0:
            if not self._more():
                return None
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)
        }
        size = int(headers.get("content-length", "0"))
        while len(self._buffer) < end + 4 + size:
            if not self._more():
                return None
        body = bytes(self._buffer[end + 4 : end + 4 + size])
        del self._buffer[: end + 4 + size]
        return Answer(int(first.split()[1]), headers, body)

    def _more(self) -> bool:
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            return False
        self._buffer += data
        return bool(data)

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "SqsWire":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
