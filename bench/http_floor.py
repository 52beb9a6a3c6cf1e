"""The floor of the HTTP door: the least that a server on this event loop does with a request.

It parses the same requests with the same library, takes what any server needs of them (target,
headers and body), and answers a constant of the size of a SendMessage answer. A door that also
bounds, validates, stores and encodes is judged by how little it adds. Run as its own process:
`python -m bench.http_floor`.
"""

import argparse
import asyncio
import json
import signal
from pathlib import Path
from typing import cast

import httptools
import uvloop

_BODY = b'{"MD5OfMessageBody":"%b","MessageId":"00000000-0000-0000-0000-000000000000"}' % (
    b"0" * 32
)
ANSWER = (
    b"HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n"
    b"x-amzn-RequestId: 00000000-0000-0000-0000-000000000000\r\n"
    b"Content-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%b"
) % (len(_BODY), _BODY)


class Answerer(asyncio.Protocol):
    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._feed = self._parser.feed_data
        self._headers: list[tuple[bytes, bytes]] = []
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._feed(data)

    # Called by the parser.

    def on_url(self, url: bytes) -> None:
        self._url = url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_body(self, body: bytes) -> None:
        self._body = body

    def on_message_complete(self) -> None:
        self._headers.clear()
        self._transport.write(ANSWER)


async def serve(ready_file: Path) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    server = await loop.create_server(Answerer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    # Under the name that a node's ready file has for its queues' address.
    staged = ready_file.with_suffix(".new")
    staged.write_text(json.dumps({"sqs": f"{host}:{port}"}))
    staged.rename(ready_file)
    await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.http_floor", description=__doc__)
    parser.add_argument("--ready-file", type=Path, required=True)
    uvloop.run(serve(parser.parse_args().ready_file))


if __name__ == "__main__":
    main()
