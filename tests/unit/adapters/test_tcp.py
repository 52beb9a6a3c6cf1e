"""Our own sockets: order of bytes and file ranges, back-pressure, closing."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from duolog.adapters.disk import LocalDisk
from duolog.adapters.tcp import TcpListener, listen_tcp
from duolog.ports.transport import FileRange, Transport


class Recorder:
    """A session that keeps what happened to it."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.data = bytearray()
        self.was_drained = asyncio.Event()
        self.was_closed = asyncio.Event()
        self._buffer = memoryview(bytearray(65_536))

    def get_buffer(self) -> memoryview:
        return self._buffer

    def received(self, count: int) -> None:
        self.data += self._buffer[:count]

    def drained(self) -> None:
        self.was_drained.set()

    def closed(self) -> None:
        self.was_closed.set()


class Listening:
    def __init__(self, connections_max: int = 10) -> None:
        self.sessions: list[Recorder] = []
        self.listener: TcpListener = listen_tcp(
            "127.0.0.1", 0, self._new_session, connections_max=connections_max
        )

    def _new_session(self, transport: Transport) -> Recorder:
        self.sessions.append(Recorder(transport))
        return self.sessions[-1]

    async def connect(self) -> tuple[socket.socket, Recorder]:
        client = socket.create_connection(self.listener.address)
        client.setblocking(False)
        known = len(self.sessions)
        async with asyncio.timeout(5):
            while len(self.sessions) == known:
                await asyncio.sleep(0.001)
        return client, self.sessions[-1]


@pytest.fixture
async def listening() -> AsyncIterator[Listening]:
    here = Listening()
    yield here
    here.listener.stop_accepting()
    here.listener.abort_connections()


async def read_exactly(client: socket.socket, size: int) -> bytes:
    loop = asyncio.get_running_loop()
    parts = bytearray()
    async with asyncio.timeout(10):
        while len(parts) < size:
            data = await loop.sock_recv(client, min(1 << 20, size - len(parts)))
            assert data, "closed too early"
            parts += data
    return bytes(parts)


async def test_bytes_and_file_ranges_leave_in_order(listening: Listening, tmp_path: Path) -> None:
    client, session = await listening.connect()
    content = os.urandom(3 << 20)
    file = LocalDisk(str(tmp_path)).open("a", create=True)
    file.pwritev([content], 0)
    session.transport.write(
        [b"head", FileRange(file, 10, 2 << 20), b"middle", FileRange(file, 0, 7), b"tail"]
    )
    session.transport.write([b"next"])
    expected = b"head" + content[10 : 10 + (2 << 20)] + b"middle" + content[:7] + b"tailnext"
    assert await read_exactly(client, len(expected)) == expected


async def test_what_the_socket_does_not_take_is_queued_and_drained(listening: Listening) -> None:
    client, session = await listening.connect()
    data = os.urandom(32 << 20)
    session.transport.send(data)
    assert session.transport.backlog_bytes > 0
    session.transport.send(b"more")
    assert await read_exactly(client, len(data) + 4) == data + b"more"
    await asyncio.wait_for(session.was_drained.wait(), 5)
    assert session.transport.backlog_bytes == 0


async def test_closing_sends_the_backlog_first(listening: Listening) -> None:
    client, session = await listening.connect()
    data = os.urandom(16 << 20)
    session.transport.write([data])
    session.transport.close()
    assert await read_exactly(client, len(data)) == data
    await asyncio.wait_for(session.was_closed.wait(), 5)


async def test_a_paused_connection_receives_nothing(listening: Listening) -> None:
    client, session = await listening.connect()
    session.transport.pause_reading()
    client.send(b"hello")
    await asyncio.sleep(0.02)
    assert session.data == b""
    session.transport.resume_reading()
    async with asyncio.timeout(5):
        while session.data != b"hello":
            await asyncio.sleep(0.001)


async def test_the_session_learns_once_that_the_client_has_gone(listening: Listening) -> None:
    client, session = await listening.connect()
    client.close()
    await asyncio.wait_for(session.was_closed.wait(), 5)
    assert listening.listener.connection_count == 0
    session.transport.abort()
    session.transport.write([b"into the void"])


async def test_a_truncated_file_closes_the_connection(listening: Listening, tmp_path: Path) -> None:
    _, session = await listening.connect()
    file = LocalDisk(str(tmp_path)).open("a", create=True)
    session.transport.write([b"x", FileRange(file, 0, 100)])
    await asyncio.wait_for(session.was_closed.wait(), 5)


async def test_connections_beyond_the_limit_are_closed() -> None:
    here = Listening(connections_max=1)
    first, session = await here.connect()
    second = socket.create_connection(here.listener.address)
    second.setblocking(False)
    assert await asyncio.wait_for(asyncio.get_running_loop().sock_recv(second, 1), 5) == b""
    first.send(b"served")
    async with asyncio.timeout(5):
        while session.data != b"served":
            await asyncio.sleep(0.001)
    here.listener.stop_accepting()
    here.listener.abort_connections()
