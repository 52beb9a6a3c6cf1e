"""The floor: the least that any server on this event loop must do with the same bytes.

It takes length-prefixed frames without looking into them, writes them to a file, and answers
each with a constant; or answers each with bytes of a file. A broker that also parses, checks
and indexes is judged by how little it adds. Run as its own process: `python -m bench.floor`.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import threading
from pathlib import Path
from struct import Struct
from typing import cast

import uvloop

LENGTH = Struct(">i")
ANSWER = LENGTH.pack(60) + bytes(60)
"""About the size of a Produce response."""
BUFFER_BYTES = 3 << 19
"""Room for a 1 MB frame and the start of the next; more would only leave the cache sooner."""
FILE_BYTES_MAX = 1 << 30
"""Where a new file begins, as a segment would."""


class AppendedFile:
    """Takes bytes at its end; begins a new file where a broker would roll its segment."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._paths: list[Path] = []
        self._size = 0
        self._fd = self._open()

    def append(self, data: memoryview) -> None:
        if self._size >= FILE_BYTES_MAX:
            os.close(self._fd)
            self._fd = self._open()
        self._size += os.pwritev(self._fd, [data], self._size)

    def sync(self) -> None:
        os.fdatasync(self._fd)

    def clear(self) -> None:
        """Gives the disk back between two runs."""
        os.close(self._fd)
        for path in self._paths:
            path.unlink()
        self._paths.clear()
        self._fd = self._open()

    def _open(self) -> int:
        path = self._directory / f"floor-{len(self._paths)}.log"
        self._paths.append(path)
        self._size = 0
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)


class Flusher:
    """Group commit: one thread, and each fdatasync answers all that was written before it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, file: AppendedFile) -> None:
        self._loop = loop
        self._file = file
        self._waiting: list[tuple[asyncio.Transport, int]] = []
        self._wanted = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, transport: asyncio.Transport, answers: int) -> None:
        self._waiting.append((transport, answers))
        self._wanted.set()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            waiting, self._waiting = self._waiting, []
            self._file.sync()
            self._loop.call_soon_threadsafe(_answer_all, waiting)


def _answer_all(waiting: list[tuple[asyncio.Transport, int]]) -> None:
    for transport, answers in waiting:
        transport.write(ANSWER * answers)


class Receiver(asyncio.BufferedProtocol):
    """Receives into one buffer, and handles all frames of a read event together."""

    def __init__(self, file: AppendedFile, flusher: Flusher | None) -> None:
        self._file = file
        self._flusher = flusher
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._filled :]

    def buffer_updated(self, nbytes: int) -> None:
        self._filled += nbytes
        frames, end = split(self._view, self._filled)
        if not frames:
            return
        self._file.append(self._view[:end])
        left = self._filled - end
        if left:
            self._view[:left] = self._view[end : self._filled]
        self._filled = left
        if self._flusher:
            self._flusher.wait(self._transport, frames)
        else:
            self._transport.write(ANSWER * frames)


def split(view: memoryview, filled: int) -> tuple[int, int]:
    """How many whole frames `filled` bytes begin with, and where the last of them ends."""
    frames = end = 0
    while filled - end >= LENGTH.size:
        following = end + LENGTH.size + LENGTH.unpack_from(view, end)[0]
        assert following - end <= BUFFER_BYTES
        if following > filled:
            break
        end = following
        frames += 1
    return frames, end


class Sender:
    """Answers each frame with the next piece of a file, by sendfile on its own socket."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, sock: socket.socket, source: int, piece_bytes: int
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._source = source
        self._piece_bytes = piece_bytes
        self._pieces = os.fstat(source).st_size // piece_bytes
        self._piece = 0
        self._sent = 0
        self._owed = 0
        self._buffer = bytearray(BUFFER_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0
        loop.add_reader(sock, self._on_readable)

    def _on_readable(self) -> None:
        received = self._socket.recv_into(self._view[self._filled :])
        if not received:
            self._loop.remove_reader(self._socket)
            self._loop.remove_writer(self._socket)
            self._socket.close()
            return
        self._filled += received
        frames, end = split(self._view, self._filled)
        self._view[: self._filled - end] = self._view[end : self._filled]
        self._filled -= end
        idle = not self._owed
        self._owed += frames
        if idle:
            self._send()

    def _send(self) -> None:
        try:
            while self._owed:
                self._send_piece()
        except BlockingIOError:
            self._loop.add_writer(self._socket, self._send)
        else:
            self._loop.remove_writer(self._socket)

    def _send_piece(self) -> None:
        if not self._sent:
            self._socket.send(LENGTH.pack(self._piece_bytes), socket.MSG_MORE)
            self._sent = LENGTH.size
        whole = LENGTH.size + self._piece_bytes
        start = self._piece * self._piece_bytes - LENGTH.size
        while self._sent < whole:
            self._sent += os.sendfile(
                self._socket.fileno(), self._source, start + self._sent, whole - self._sent
            )
        self._sent = 0
        self._owed -= 1
        self._piece = (self._piece + 1) % self._pieces


async def serve_writes(directory: Path, *, fsync: bool) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    file = AppendedFile(directory)
    flusher = Flusher(loop, file) if fsync else None
    loop.add_signal_handler(signal.SIGUSR1, file.clear)
    return await loop.create_server(lambda: Receiver(file, flusher), "127.0.0.1", 0)


def serve_reads(source_path: Path, piece_bytes: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    source = os.open(source_path, os.O_RDONLY)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    listener.setblocking(False)

    def accept() -> None:
        sock, _ = listener.accept()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Sender(loop, sock, source, piece_bytes)

    loop.add_reader(listener, accept)
    return listener


async def serve(arguments: argparse.Namespace) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    if arguments.mode == "read":
        listener = serve_reads(arguments.source, arguments.piece_bytes)
    else:
        server = await serve_writes(arguments.directory, fsync=arguments.mode == "fsync")
        listener = server.sockets[0]
    host, port = listener.getsockname()
    staged = arguments.ready_file.with_suffix(".new")
    staged.write_text(json.dumps({"kafka": f"{host}:{port}"}))
    staged.rename(arguments.ready_file)
    await stop.wait()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.floor", description=__doc__)
    parser.add_argument("mode", choices=["write", "fsync", "read"])
    parser.add_argument("--directory", type=Path, help="where written bytes go")
    parser.add_argument("--source", type=Path, help="the file that is read")
    parser.add_argument("--piece-bytes", type=int, default=1 << 20, help="per answer, when reading")
    parser.add_argument("--ready-file", type=Path, required=True)
    uvloop.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
