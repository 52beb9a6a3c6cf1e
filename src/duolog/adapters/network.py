"""Connections between nodes over real sockets: encrypted, or plain on loopback only."""

import asyncio
import contextlib
import errno
import socket
import ssl
from collections.abc import Callable
from ipaddress import ip_address

from duolog.adapters.tcp import TcpListener, TcpTransport, listen_tcp
from duolog.adapters.tls import TlsTransport
from duolog.ports.network import NewSession

CONNECTIONS_MAX = 1_024
"""Limit of connections that other nodes have opened to this one."""

_KEEPALIVE = {
    socket.TCP_KEEPIDLE: 5,
    socket.TCP_KEEPINTVL: 2,
    socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: 10_000,
}
"""Keepalive options: a machine that was switched off stays silent, and without these its
connections would last for a quarter of an hour."""


class TcpNetwork:
    """Implements ports.Network without encryption, on loopback only."""

    def __init__(self, *, connections_max: int = CONNECTIONS_MAX) -> None:
        self._connections_max = connections_max

    async def dial(self, host: str, port: int, new_session: NewSession) -> None:
        connected, peer = await _connect(host, port, on_loopback=True)
        TcpTransport(asyncio.get_running_loop(), connected, peer, _ignore).begin(new_session)

    async def listen(self, host: str, port: int, new_session: NewSession) -> TcpListener:
        listener = listen_tcp(
            host, port, new_session, connections_max=self._connections_max, new_transport=_accepted
        )
        if not ip_address(listener.address[0]).is_loopback:
            listener.stop_accepting()
            raise _plain_is_refused(host)
        return listener


class TlsNetwork:
    """Implements ports.Network with mutual TLS (tls_contexts.py)."""

    def __init__(
        self,
        server: ssl.SSLContext,
        client: ssl.SSLContext,
        *,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._server = server
        self._client = client
        self._connections_max = connections_max

    async def dial(self, host: str, port: int, new_session: NewSession) -> None:
        connected, peer = await _connect(host, port, on_loopback=False)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[str | None] = loop.create_future()
        transport = TlsTransport(loop, connected, peer, _ignore, self._client, handshaken=done)
        transport.begin(new_session)
        try:
            failure = await done
        except asyncio.CancelledError:
            transport.abort()
            raise
        if failure is not None:
            raise ConnectionError(failure)

    async def listen(self, host: str, port: int, new_session: NewSession) -> TcpListener:
        return listen_tcp(
            host,
            port,
            new_session,
            connections_max=self._connections_max,
            new_transport=self._accepted,
        )

    def _accepted(
        self,
        loop: asyncio.AbstractEventLoop,
        connected: socket.socket,
        peer: tuple[str, int],
        on_gone: Callable[[TcpTransport], None],
    ) -> TlsTransport:
        _watch_for_silence(connected)
        return TlsTransport(loop, connected, peer, on_gone, self._server)


async def _connect(
    host: str, port: int, *, on_loopback: bool
) -> tuple[socket.socket, tuple[str, int]]:
    """Connects to the first address of the host that accepts. Raises OSError."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError(errno.EADDRNOTAVAIL, f"{host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        if on_loopback and not ip_address(address[0]).is_loopback:
            failure = _plain_is_refused(host)
            continue
        connecting = socket.socket(family, kind, protocol)
        try:
            connecting.setblocking(False)
            await loop.sock_connect(connecting, address)
        except OSError as error:
            connecting.close()
            failure = error
        except BaseException:
            connecting.close()
            raise
        else:
            _watch_for_silence(connecting)
            return connecting, (str(address[0]), int(address[1]))
    raise failure


def _watch_for_silence(connected: socket.socket) -> None:
    """Sets options so that small frames leave at once, and a dead machine is noticed."""
    # A connection that is reset this early refuses options; reading will fail.
    with contextlib.suppress(OSError):
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in _KEEPALIVE.items():
            connected.setsockopt(socket.IPPROTO_TCP, option, value)


def _accepted(
    loop: asyncio.AbstractEventLoop,
    connected: socket.socket,
    peer: tuple[str, int],
    on_gone: Callable[[TcpTransport], None],
) -> TcpTransport:
    _watch_for_silence(connected)
    return TcpTransport(loop, connected, peer, on_gone)


def _plain_is_refused(host: str) -> OSError:
    return PermissionError(f"without certificates nodes only talk on loopback, not with {host}")


def _ignore(_: TcpTransport) -> None:
    """Does nothing: the dialler holds the session, and nothing else tracks the connection."""
