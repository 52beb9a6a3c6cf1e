"""A server on loopback that answers like etcd's gateway, or not at all like it."""

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

from duolog.adapters.etcd.address import Endpoint

HEADER = {"cluster_id": "1", "revision": "7"}
SILENCE: list[bytes] = []
"""An answer that never comes; the connection stays."""
HANG_UP = [b""]
"""The connection ends instead of an answer."""

Answering = Callable[[dict[str, Any]], list[bytes]]
"""From a request to the pieces that are written; what follows a stream's last one is silence."""


class FakeGateway:
    """Answers reads as an etcd without keys, until told otherwise by path."""

    def __init__(self) -> None:
        self.answers: dict[str, Answering] = {
            "/v3/maintenance/status": lambda request: [ok({"version": "3.4.23"})],
            "/v3/kv/range": lambda request: [ok({})],
        }
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> "FakeGateway":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.endpoint = Endpoint("127.0.0.1", self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._serving.values():
            connection.transport.abort()
        await asyncio.gather(*self._serving)

    def requests(self, path: str) -> list[dict[str, Any]]:
        return [request for asked, request in self.asked if asked == path]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                path = head.split()[1]
                length = int(head.lower().partition("content-length: ")[2].partition("\r\n")[0])
                request = json.loads(await reader.readexactly(length))
                self.asked.append((path, request))
                for piece in self.answers[path](request):
                    if not piece:
                        return
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, OSError):
            return
        finally:
            del self._serving[task]
            writer.transport.abort()


def raw(body: bytes, status: str = "200 OK") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def ok(answer: dict[str, Any]) -> bytes:
    return raw(json.dumps({"header": HEADER} | answer).encode())


def refused(code: int, message: str) -> bytes:
    return raw(json.dumps({"code": code, "message": message}).encode(), "400 Bad Request")


def stream(*messages: dict[str, Any]) -> list[bytes]:
    """The beginning of an answer without an end."""
    begun = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [begun, *(message_of({"result": {"header": HEADER} | each}) for each in messages)]


def message_of(message: dict[str, Any]) -> bytes:
    return chunk(json.dumps(message).encode() + b"\n")


def chunk(line: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(line), line)


def stored(key: str, value: bytes, revision: int) -> dict[str, str]:
    return {"key": encoded(key.encode()), "value": encoded(value), "mod_revision": str(revision)}


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()
