"""Implementation of the Transport port on plain TCP sockets.

Not the event loop's transports: those cannot sendfile, and a fetch that sends its bytes from the
page cache costs half of one that reads them into Python first.
"""

import asyncio
import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Sequence

from duolog.observe.logs import get_logger
from duolog.ports.network import NewSession
from duolog.ports.transport import Chunk, FileRange, Session

ACCEPTS_PER_EVENT_MAX = 64
ACCEPT_PAUSE_SECONDS = 1.0
"""Pause of accepting when the process has no descriptor left for a new connection."""
GATHER_BUFFERS_MAX = 512
"""Limit of buffers in one sendmsg; the kernel takes at most 1,024."""
SENDFILE_BYTES_MAX = 1 << 30
LISTEN_BACKLOG = 1024

_OUT_OF_DESCRIPTORS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

NewTransport = Callable[
    [
        asyncio.AbstractEventLoop,
        socket.socket,
        tuple[str, int],
        Callable[["TcpTransport"], None],
    ],
    "TcpTransport",
]
"""Makes a TcpTransport, or one that adds encryption (tls.py)."""

log = get_logger("tcp")


class TcpTransport:
    """One connection: feeds received bytes to its session, and sends bytes and file ranges."""

    __slots__ = (
        "_backlog",
        "_closing",
        "_fd",
        "_host",
        "_loop",
        "_on_gone",
        "_peer",
        "_reading",
        "_session",
        "_socket",
        "backlog_bytes",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connected: socket.socket,
        peer: tuple[str, int],
        on_gone: "Callable[[TcpTransport], None]",
    ) -> None:
        self._loop = loop
        self._socket = connected
        self._fd = connected.fileno()
        self._host = peer[0]
        self._peer = f"{peer[0]}:{peer[1]}"
        self._on_gone = on_gone
        self._session: Session | None = None
        self._backlog: deque[memoryview | FileRange] = deque()
        self.backlog_bytes = 0
        self._reading = False
        self._closing = False

    def begin(self, new_session: NewSession) -> None:
        """Makes the session and starts reading, now that the connection can be used."""
        self._session = new_session(self)
        self.resume_reading()

    @property
    def peer(self) -> str:
        return self._peer

    @property
    def identity(self) -> str | None:
        return None

    @property
    def host(self) -> str:
        return self._host

    def pause_reading(self) -> None:
        if self._reading:
            self._reading = False
            self._loop.remove_reader(self._fd)

    def resume_reading(self) -> None:
        if not self._reading and not self._closing and self._session is not None:
            self._reading = True
            self._loop.add_reader(self._fd, self._readable)

    def _readable(self) -> None:
        session = self._session
        if session is None:
            return
        buffer = session.get_buffer()
        try:
            count = self._socket.recv_into(buffer)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.abort()
            return
        if count:
            session.received(count)
        else:
            assert len(buffer), "reading is paused while there is no room"
            self.abort()

    def send(self, data: bytes) -> None:
        if self._closing:
            return
        if self._backlog:
            self._queue(memoryview(data))
            return
        try:
            sent = self._socket.send(data)
        except (BlockingIOError, InterruptedError):
            sent = 0
        except OSError:
            self.abort()
            return
        if sent != len(data):
            self._queue(memoryview(data)[sent:])
            self._loop.add_writer(self._fd, self._writable)

    def write(self, chunks: Sequence[Chunk]) -> None:
        if self._closing:
            return
        was_empty = not self._backlog
        for chunk in chunks:
            self._queue(memoryview(chunk) if isinstance(chunk, bytes) else chunk)
        if was_empty and self._send() and self._backlog:
            self._loop.add_writer(self._fd, self._writable)

    def _queue(self, item: memoryview | FileRange) -> None:
        size = item.length if isinstance(item, FileRange) else len(item)
        if size:
            self._backlog.append(item)
            self.backlog_bytes += size

    def _send(self) -> bool:
        """Sends from the backlog until it is empty or the socket is full; False if it broke."""
        backlog = self._backlog
        try:
            while backlog:
                head = backlog[0]
                if isinstance(head, FileRange):
                    sent = os.sendfile(
                        self._fd,
                        head.file.fileno(),
                        head.position,
                        min(head.length, SENDFILE_BYTES_MAX),
                    )
                    if sent == 0:
                        raise OSError(errno.EIO, f"{head.file.path} is shorter than expected")
                    self.backlog_bytes -= sent
                    if sent == head.length:
                        backlog.popleft()
                    else:
                        backlog[0] = FileRange(head.file, head.position + sent, head.length - sent)
                else:
                    self._send_bytes()
        except (BlockingIOError, InterruptedError):
            return True
        except OSError as error:
            if error.errno == errno.EIO:
                log.error("cannot send stored bytes", peer=self._peer, error=str(error))
            self.abort()
            return False
        return True

    def _send_bytes(self) -> None:
        """Sends the byte buffers at the head of the backlog with one sendmsg."""
        backlog = self._backlog
        buffers: list[memoryview] = []
        more = False
        for item in backlog:
            if isinstance(item, FileRange) or len(buffers) == GATHER_BUFFERS_MAX:
                more = True
                break
            buffers.append(item)
        sent = self._socket.sendmsg(buffers, (), socket.MSG_MORE if more else 0)
        self.backlog_bytes -= sent
        for buffer in buffers:
            if sent < len(buffer):
                backlog[0] = buffer[sent:]
                break
            sent -= len(buffer)
            backlog.popleft()

    def _writable(self) -> None:
        if not self._send() or self._backlog:
            return
        self._loop.remove_writer(self._fd)
        if self._closing:
            self.abort()
        elif self._session is not None:
            self._session.drained()

    def close(self) -> None:
        if not self._backlog:
            self.abort()
        elif not self._closing:
            self.pause_reading()
            self._closing = True

    def abort(self) -> None:
        session = self._session
        if session is None:
            return
        self.pause_reading()
        self._session = None
        self._closing = True
        if self._backlog:
            self._loop.remove_writer(self._fd)
            self._backlog.clear()
            self.backlog_bytes = 0
        self._socket.close()
        self._on_gone(self)
        session.closed()


class TcpListener:
    """Accepts connections and gives each a session."""

    def __init__(
        self,
        listening: socket.socket,
        new_session: NewSession,
        *,
        connections_max: int,
        new_transport: NewTransport = TcpTransport,
    ) -> None:
        self._socket = listening
        self._new_session = new_session
        self._new_transport = new_transport
        self._connections_max = connections_max
        self._connections: set[TcpTransport] = set()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(listening.fileno(), self._acceptable)
        self._resume: asyncio.TimerHandle | None = None

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()[:2]
        return host, port

    @property
    def connection_count(self) -> int:
        return len(self._connections)

    def _acceptable(self) -> None:
        for _ in range(ACCEPTS_PER_EVENT_MAX):
            try:
                connected, peer = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    raise
                log.error("accepting paused: out of descriptors or memory", error=str(error))
                self._loop.remove_reader(self._socket.fileno())
                self._resume = self._loop.call_later(ACCEPT_PAUSE_SECONDS, self._accept_again)
                return
            if len(self._connections) >= self._connections_max:
                log.warning("connection refused: connections.max reached", peer=peer[0])
                connected.close()
                continue
            connected.setblocking(False)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                transport = self._new_transport(
                    self._loop, connected, peer[:2], self._connections.discard
                )
            except OSError:
                # Reset before it could be used; nobody is there to be told.
                connected.close()
                continue
            self._connections.add(transport)
            transport.begin(self._new_session)

    def _accept_again(self) -> None:
        self._resume = None
        self._loop.add_reader(self._socket.fileno(), self._acceptable)

    def stop_accepting(self) -> None:
        if self._resume is not None:
            self._resume.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()

    def abort_connections(self) -> None:
        for transport in list(self._connections):
            transport.abort()


def listen_tcp(
    host: str,
    port: int,
    new_session: NewSession,
    *,
    connections_max: int,
    new_transport: NewTransport = TcpTransport,
) -> TcpListener:
    """Binds and starts accepting on the running loop. Raises OSError if the address is taken."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.setblocking(False)
        listening.bind(address)
        listening.listen(LISTEN_BACKLOG)
        return TcpListener(
            listening, new_session, connections_max=connections_max, new_transport=new_transport
        )
    except OSError:
        listening.close()
        raise
