"""Keeps idle connections for the next request to the same endpoint, for a while."""

import asyncio

from duolog.adapters.http_post_connection import PostConnection
from duolog.ports.http import Allow

KEPT_MAX = 256
KEPT_PER_ENDPOINT_MAX = 16
KEPT_SECONDS_MAX = 20.0
"""Idle limit below that of common servers, so that requests seldom meet a connection just
closed."""
AGE_SECONDS_MAX = 300.0
"""Limit of a connection's age, so that the name is resolved again even if it is never idle."""

Endpoint = tuple[str, str, int]
"""Scheme, host and port."""


class KeptConnections:
    def __init__(self) -> None:
        self._by_endpoint: dict[Endpoint, dict[PostConnection, asyncio.TimerHandle]] = {}
        self._total = 0

    def __len__(self) -> int:
        return self._total

    def take(self, endpoint: Endpoint, allow: Allow, now: float) -> PostConnection | None:
        """The connection used last, which is the least likely to have been closed."""
        _, host, port = endpoint
        for connection in reversed(self._by_endpoint.get(endpoint, {})):
            is_young = now - connection.made_at < AGE_SECONDS_MAX
            if connection.is_free and is_young and allow(host, connection.address, port):
                self._remove(endpoint, connection)
                return connection
        return None

    def put(
        self, endpoint: Endpoint, connection: PostConnection, loop: asyncio.AbstractEventLoop
    ) -> None:
        """Keeps a connection; if its answer is still arriving, it is not taken before that ends."""
        present = self._by_endpoint.get(endpoint, {})
        if len(present) >= KEPT_PER_ENDPOINT_MAX:
            self._close(endpoint, next(iter(present)))
        if self._total >= KEPT_MAX or not connection.is_open:
            connection.abort()
            return
        self._total += 1
        timer = loop.call_later(KEPT_SECONDS_MAX, self._close, endpoint, connection)
        self._by_endpoint.setdefault(endpoint, {})[connection] = timer

    def close(self) -> None:
        for endpoint, connections in list(self._by_endpoint.items()):
            for connection in list(connections):
                self._close(endpoint, connection)

    def _close(self, endpoint: Endpoint, connection: PostConnection) -> None:
        self._remove(endpoint, connection)
        connection.abort()

    def _remove(self, endpoint: Endpoint, connection: PostConnection) -> None:
        of_endpoint = self._by_endpoint[endpoint]
        of_endpoint.pop(connection).cancel()
        self._total -= 1
        if not of_endpoint:
            del self._by_endpoint[endpoint]
