"""Posts to endpoints that users name, and only to addresses that an operator allows.

The host of a URL is resolved here, each address is checked against the allow list, and the
connection is made to that very address: a name that resolves to something else a moment later gains
nothing. Redirects are not followed, since their targets are unchecked.
"""

import asyncio
import socket
import ssl
from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

from duolog.adapters.http_answer import BadAnswer
from duolog.adapters.http_kept import Endpoint, KeptConnections
from duolog.adapters.http_post_connection import Closed, IpAddress, PostConnection
from duolog.ports.http import Allow, PushFailed, header_lines

CONNECT_SECONDS_MAX = 5.0
"""Limit for one address, so that one which swallows packets leaves time for the next."""
ADDRESSES_MAX = 4
"""Limit of addresses tried per host, in the resolver's order."""

_PORTS = {"http": 80, "https": 443}


class HttpPoster:
    """Implements ports.http.Poster. Close it when no more requests are in progress."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        """`tls` replaces the system's list of trusted authorities."""
        self._tls = tls
        self._kept = KeptConnections()

    @property
    def kept(self) -> int:
        """Number of idle connections kept for later."""
        return len(self._kept)

    async def post(
        self,
        url: str,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        *,
        timeout_s: float,
        allow: Allow,
    ) -> int:
        target = _parse(url)
        head = target.head(headers, len(body))
        try:
            async with asyncio.timeout(timeout_s):
                return await self._post(target.endpoint, head, body, allow)
        except TimeoutError:
            raise PushFailed(f"{target.host} did not answer within {timeout_s:g} s") from None
        except (Closed, BadAnswer) as problem:
            raise PushFailed(f"{target.host}: {problem}") from None
        except (OSError, UnicodeError) as error:
            raise PushFailed(f"{target.host} cannot be reached: {_reason(error)}") from None

    def close(self) -> None:
        self._kept.close()

    async def _post(self, endpoint: Endpoint, head: bytes, body: bytes, allow: Allow) -> int:
        kept = self._kept.take(endpoint, allow, asyncio.get_running_loop().time())
        if kept is not None:
            try:
                return await self._ask(kept, endpoint, head, body)
            except Closed as closed:
                # Closed while it was idle, as servers do: this request was not answered at all.
                if closed.answer_had_begun:
                    raise
        connection = await self._connect(endpoint, allow)
        return await self._ask(connection, endpoint, head, body)

    async def _ask(
        self, connection: PostConnection, endpoint: Endpoint, head: bytes, body: bytes
    ) -> int:
        try:
            status = await connection.ask(head, body)
        except BaseException:
            connection.abort()
            raise
        self._kept.put(endpoint, connection, asyncio.get_running_loop())
        return status

    async def _connect(self, endpoint: Endpoint, allow: Allow) -> PostConnection:
        scheme, host, port = endpoint
        resolved = await _resolve(host, port)
        addresses = [address for address in resolved if allow(host, address, port)]
        if not addresses:
            raise PushFailed(f"{host} has no address allowed by push.allow")
        tls = await self._trust() if scheme == "https" else None
        reason = ""
        for address in addresses[:ADDRESSES_MAX]:
            try:
                async with asyncio.timeout(CONNECT_SECONDS_MAX):
                    return await _connect_to(address, port, host, tls)
            except TimeoutError:
                reason = f"it does not accept a connection within {CONNECT_SECONDS_MAX:g} s"
            except OSError as error:
                reason = _reason(error)
        raise PushFailed(f"{host} cannot be reached: {reason}")

    async def _trust(self) -> ssl.SSLContext:
        if self._tls is None:
            # Reads all authorities that the system trusts, which takes a while.
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        return self._tls


async def _connect_to(
    address: IpAddress, port: int, host: str, tls: ssl.SSLContext | None
) -> PostConnection:
    """Connects to the address; with `tls`, the other side must prove to be `host`."""
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(
        lambda: PostConnection(address, loop),
        str(address),
        port,
        ssl=tls,
        server_hostname=host if tls is not None else None,
    )
    return connection


class _Target(NamedTuple):
    endpoint: Endpoint
    authority: str
    """Host and port, as in the Host header."""
    path: str
    """Path and query."""

    @property
    def host(self) -> str:
        return self.endpoint[1]

    def head(self, headers: Sequence[tuple[bytes, bytes]], body_bytes: int) -> bytes:
        first = f"POST {self.path} HTTP/1.1\r\nHost: {self.authority}\r\n"
        own = f"User-Agent: duolog\r\nContent-Length: {body_bytes}\r\n\r\n"
        return first.encode("ascii") + header_lines(headers) + own.encode("ascii")


def _parse(url: str) -> _Target:
    """Parses a URL; raises PushFailed."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise PushFailed("the URL cannot be understood") from None
    # A URL goes into the head of a request and must not be able to end its line.
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if not is_plain or not host or parts.scheme not in _PORTS:
        raise PushFailed("the URL cannot be understood")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    endpoint = (parts.scheme, host, port or _PORTS[parts.scheme])
    return _Target(endpoint, parts.netloc.rpartition("@")[2], path)


async def _resolve(host: str, port: int) -> list[IpAddress]:
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [ip_address(address[0]) for *_, address in found]


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message}"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
