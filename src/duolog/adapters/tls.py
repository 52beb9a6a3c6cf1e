"""Encrypted connections, on the same plain sockets as unencrypted ones.

Backlog, pausing and closing are TcpTransport's; only the way of bytes into and out of the socket
differs. File ranges are read into memory, where they have to be encrypted.
"""

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from duolog.adapters.tcp import TcpTransport
from duolog.observe.logs import get_logger
from duolog.ports.network import NewSession
from duolog.ports.transport import FileRange

HANDSHAKE_SECONDS_MAX = 5.0
PIECE_BYTES = 64 * 1024
"""Bytes encrypted with one call: four TLS records."""
READS_PER_EVENT_MAX = 16
"""Limit of reads per event; each returns one record of at most 16 KB."""
IDENTITY_SCHEME = "duolog://"

_WOULD_BLOCK = (ssl.SSLWantReadError, ssl.SSLWantWriteError)

log = get_logger("tls")


class TlsTransport(TcpTransport):
    __slots__ = (
        "_handshake_timer",
        "_handshaken",
        "_identity",
        "_is_shaking_hands",
        "_is_stuck",
        "_new_session",
        "_tls",
    )

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        connected: socket.socket,
        peer: tuple[str, int],
        on_gone: Callable[[TcpTransport], None],
        context: ssl.SSLContext,
        *,
        handshaken: asyncio.Future[str | None] | None = None,
    ) -> None:
        """A dialler passes `handshaken`, which receives the handshake's failure, or None."""
        tls = context.wrap_socket(
            connected, server_side=handshaken is None, do_handshake_on_connect=False
        )
        super().__init__(loop, tls, peer, on_gone)
        self._tls = tls
        self._handshaken = handshaken
        self._handshake_timer: asyncio.TimerHandle | None = None
        self._is_shaking_hands = False
        self._new_session: NewSession | None = None
        self._identity: str | None = None
        self._is_stuck = False
        """True while the head of the backlog is partly sent and must stay as it is."""

    @property
    def identity(self) -> str | None:
        return self._identity

    def begin(self, new_session: NewSession) -> None:
        """Begins the handshake; the session is made once it is done."""
        self._new_session = new_session
        self._is_shaking_hands = True
        self._handshake_timer = self._loop.call_later(
            HANDSHAKE_SECONDS_MAX, self._end_handshake, "it took too long"
        )
        self._loop.add_reader(self._fd, self._shake_hands)
        self._shake_hands()

    def _shake_hands(self) -> None:
        self._loop.remove_writer(self._fd)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return
        except ssl.SSLWantWriteError:
            self._loop.add_writer(self._fd, self._shake_hands)
        except (OSError, ValueError) as error:
            self._end_handshake(_reason_of(error))
        else:
            self._end_handshake(None)

    def _end_handshake(self, failure: str | None) -> None:
        assert self._new_session is not None
        assert self._handshake_timer is not None
        self._is_shaking_hands = False
        self._handshake_timer.cancel()
        self._loop.remove_reader(self._fd)
        self._loop.remove_writer(self._fd)
        if failure is None:
            self._identity = _identity_in(self._tls.getpeercert() or {})
            super().begin(self._new_session)
        else:
            failure = f"the TLS handshake failed: {failure}"
            if self._handshaken is None:
                log.warning("connection refused", peer=self.peer, reason=failure)
            self._closing = True
            self._socket.close()
            self._on_gone(self)
        if self._handshaken is not None and not self._handshaken.done():
            self._handshaken.set_result(failure)

    def abort(self) -> None:
        if self._is_shaking_hands:
            self._end_handshake("the connection was given up")
        else:
            super().abort()

    def resume_reading(self) -> None:
        super().resume_reading()
        if self._reading and self._has_pending:
            self._loop.call_soon(self._read_pending)

    @property
    def _has_pending(self) -> bool:
        """True if decrypted bytes are waiting, for which the socket does not become readable."""
        return self._session is not None and self._tls.pending() > 0

    def _read_pending(self) -> None:
        if self._reading:
            self._readable()

    def _readable(self) -> None:
        reads = 0
        while self._session is not None and self._reading:
            try:
                count = self._tls.recv_into(self._session.get_buffer())
            except _WOULD_BLOCK:
                return
            except OSError as error:
                if isinstance(error, ssl.SSLError):
                    log.warning("connection broken", peer=self.peer, reason=_reason_of(error))
                self.abort()
                return
            if not count:
                self.abort()
                return
            self._session.received(count)
            reads += 1
            if reads >= READS_PER_EVENT_MAX and not self._has_pending:
                return

    def send(self, data: bytes) -> None:
        self.write((data,))

    def _send(self) -> bool:
        backlog = self._backlog
        try:
            while backlog:
                piece = self._next_piece()
                self._is_stuck = True
                sent = self._tls.send(piece)
                self._is_stuck = False
                self.backlog_bytes -= sent
                if sent == len(piece):
                    backlog.popleft()
                else:
                    backlog[0] = piece[sent:]
        except _WOULD_BLOCK:
            return True
        except OSError as error:
            if error.errno == errno.EIO:
                log.error("cannot send stored bytes", peer=self.peer, error=str(error))
            self.abort()
            return False
        return True

    def _next_piece(self) -> memoryview:
        """The head of the backlog, joined with what follows it while that is small."""
        backlog = self._backlog
        head = backlog[0]
        if self._is_stuck:
            assert isinstance(head, memoryview)
            return head
        parts: list[memoryview] = []
        room = PIECE_BYTES
        while backlog and room:
            part = self._take(room)
            parts.append(part)
            room -= len(part)
        piece = parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
        backlog.appendleft(piece)
        return piece

    def _take(self, bytes_max: int) -> memoryview:
        """Takes up to `bytes_max` bytes from the head of the backlog."""
        backlog = self._backlog
        head = backlog[0]
        if not isinstance(head, FileRange):
            backlog.popleft()
            if len(head) > bytes_max:
                backlog.appendleft(head[bytes_max:])
            return head[:bytes_max]
        data = head.file.pread(min(head.length, bytes_max), head.position)
        if not data:
            raise OSError(errno.EIO, f"{head.file.path} is shorter than expected")
        backlog.popleft()
        if len(data) < head.length:
            rest = FileRange(head.file, head.position + len(data), head.length - len(data))
            backlog.appendleft(rest)
        return memoryview(data)


def _identity_in(certificate: Mapping[str, Any]) -> str | None:
    """The only Duolog URI in the certificate; None if there are several, or none."""
    names = [
        name
        for kind, name in certificate.get("subjectAltName", ())
        if kind == "URI" and name.startswith(IDENTITY_SCHEME)
    ]
    return names[0] if len(names) == 1 else None


def _reason_of(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the certificate is not accepted: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.lower().replace("_", " ")
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
