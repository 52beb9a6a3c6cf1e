"""Transports on a virtual socket: for a Session of ours, or for one of asyncio's protocols."""

import asyncio
from collections.abc import Sequence
from typing import Any

from duolog.ports.transport import Chunk, FileRange, Session
from duolog.sim.pipe import Mark
from duolog.sim.sockets import Socket


class SessionTransport:
    """Implements ports.Transport, and drives its Session."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._session: Session | None = None

    def start(self, session: Session) -> None:
        self._session = session
        self._socket.start(self)

    @property
    def peer(self) -> str:
        host, port = self._socket.remote
        return f"{host}:{port}"

    @property
    def host(self) -> str:
        return self._socket.remote[0]

    @property
    def identity(self) -> str | None:
        return None

    @property
    def backlog_bytes(self) -> int:
        return self._socket.backlog_bytes

    def send(self, data: bytes) -> None:
        self._socket.send(data)

    def write(self, chunks: Sequence[Chunk]) -> None:
        self._socket.send(b"".join(map(_load, chunks)))

    def pause_reading(self) -> None:
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._socket.resume_reading()

    def close(self) -> None:
        self._socket.close()
        self.lost(None)

    def abort(self) -> None:
        self._socket.abort()
        self.lost(None)

    def received(self, data: bytes) -> None:
        while data and self._session is not None:
            buffer = self._session.get_buffer()
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            self._session.received(count)

    def drained(self) -> None:
        if self._session is not None:
            self._session.drained()

    def lost(self, mark: Mark | None) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.closed()


class StreamTransport(asyncio.Transport):
    """An asyncio transport, which drives its protocol."""

    def __init__(self, socket: Socket, protocol: asyncio.BaseProtocol) -> None:
        super().__init__({"peername": socket.remote, "sockname": socket.local})
        self._socket = socket
        self._protocol: Any = protocol
        self._writing_paused = False

    def start(self) -> None:
        self._protocol.connection_made(self)
        self._socket.start(self)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._socket.send(bytes(data))
        if self._socket.backlog_bytes and not self._writing_paused:
            self._writing_paused = True
            self._protocol.pause_writing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        return

    def get_write_buffer_size(self) -> int:
        return self._socket.backlog_bytes

    def is_closing(self) -> bool:
        return self._socket.is_closing

    def is_reading(self) -> bool:
        return not self._socket.is_closing

    def pause_reading(self) -> None:
        self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._socket.resume_reading()

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        self._socket.close()

    def abort(self) -> None:
        self._socket.abort()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        protocol: asyncio.BaseProtocol = self._protocol
        return protocol

    def received(self, data: bytes) -> None:
        if isinstance(self._protocol, asyncio.BufferedProtocol):
            rest = memoryview(data)
            while rest:
                buffer = memoryview(self._protocol.get_buffer(len(rest)))
                count = min(len(buffer), len(rest))
                buffer[:count] = rest[:count]
                rest = rest[count:]
                self._protocol.buffer_updated(count)
        else:
            self._protocol.data_received(data)

    def drained(self) -> None:
        if self._writing_paused:
            self._writing_paused = False
            self._protocol.resume_writing()

    def lost(self, mark: Mark | None) -> None:
        if mark is Mark.END:
            self._protocol.eof_received()
        reset = ConnectionResetError("the connection was reset") if mark is Mark.RESET else None
        self._protocol.connection_lost(reset)


def _load(chunk: Chunk) -> bytes:
    if isinstance(chunk, FileRange):
        return chunk.file.pread(chunk.length, chunk.position)
    return bytes(chunk)
