"""HTTP server: accepts connections, bounds them, and shuts them down gracefully.

Bytes go through http_reader.py (requests), http_connection.py (order, waiting, time) and
http_response.py (answers). Runs on any event loop.
"""

import asyncio
import contextlib

from duolog.adapters.http_connection import HttpConnection
from duolog.adapters.http_pool import HttpLimits, HttpPool
from duolog.ports.http import Handler

ACCEPT_BACKLOG = 1024
SWEEP_SECONDS_MAX = 1.0


class HttpServer:
    def __init__(self, handler: Handler, limits: HttpLimits) -> None:
        self._pool = HttpPool(handler, limits)
        self._sweep_seconds = min(SWEEP_SECONDS_MAX, _shortest_seconds(limits) / 4)
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._listener: asyncio.Server | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Host and port that the server actually listens on."""
        assert self._listener is not None
        host, port = self._listener.sockets[0].getsockname()[:2]
        return host, port

    @property
    def connections(self) -> int:
        return len(self._pool.members)

    async def listen(self, host: str, port: int) -> None:
        """Starts listening; raises OSError if the address is not available."""
        loop = asyncio.get_running_loop()
        self._sweep(loop)
        self._listener = await loop.create_server(
            lambda: HttpConnection(self._pool, loop), host, port, backlog=ACCEPT_BACKLOG
        )

    async def close(self, drain_seconds: float = 0.0) -> None:
        """Stops accepting, and waits up to `drain_seconds` for requests in progress."""
        assert self._listener is not None
        self._pool.closing = True
        self._listener.close()
        for connection in list(self._pool.members):
            connection.close_when_idle()
        if self._pool.members:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._pool.emptied.wait(), drain_seconds)
        for connection in list(self._pool.members):
            connection.abort()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        self._pool.sweep(loop.time())
        self._sweep_timer = loop.call_later(self._sweep_seconds, self._sweep, loop)


async def serve_http(
    handler: Handler, host: str, port: int, limits: HttpLimits | None = None
) -> HttpServer:
    """A server that is listening. Raises OSError if the address is not available."""
    server = HttpServer(handler, limits or HttpLimits())
    await server.listen(host, port)
    return server


def _shortest_seconds(limits: HttpLimits) -> float:
    return min(
        limits.head_seconds_max,
        limits.body_seconds_max,
        limits.idle_seconds_max,
        limits.write_seconds_max,
        limits.linger_seconds_max,
    )
