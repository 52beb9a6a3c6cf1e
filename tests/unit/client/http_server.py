"""An HTTP server that says exactly what a test gives it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from tests.harness.ports import free_port

from duolog.client.errors import Endpoint


@dataclass(frozen=True)
class Heard:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[Heard], bytes | None]
"""The bytes to send; None closes the connection."""


def answer(status: int, body: bytes, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


class RawHttpServer:
    def __init__(self) -> None:
        self.respond: Answer = lambda heard: answer(200, b"{}")
        self.heard: list[Heard] = []
        self.connections = 0
        self.endpoint: Endpoint = ("127.0.0.1", free_port())
        """The same when it is started again."""
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def address(self) -> str:
        return f"{self.endpoint[0]}:{self.endpoint[1]}"

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, *self.endpoint)
        self.endpoint = self._server.sockets[0].getsockname()[:2]

    async def stop(self) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
                method, target, _ = head[0].split(" ")
                pairs = [line.split(": ", 1) for line in head[1:] if line]
                headers = {name.lower(): value for name, value in pairs}
                assert len(headers) == len(pairs), "a header came twice"
                body = await reader.readexactly(int(headers["content-length"]))
                self.heard.append(Heard(method, target, headers, body))
                said = self.respond(self.heard[-1])
                if said is None:
                    break
                writer.write(said)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()
