"""Gateway of one endpoint: its connections, and requests with a deadline."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager

from duolog.adapters.etcd.address import Endpoint
from duolog.adapters.etcd.connection import Connection, Stream, connect
from duolog.adapters.etcd.failures import NoAnswer, NotSent
from duolog.adapters.etcd.messages import refusal

REQUESTS_MAX = 32
"""Limit of requests to one endpoint at once, each on a connection; further ones wait for a slot."""

CONNECT_SECONDS_MAX = 1.0
"""Limit of connecting, so that an endpoint that swallows packets leaves time for the next one."""


class Gateway:
    """Pool of connections to one endpoint. Deadlines are times of the event loop."""

    def __init__(self, endpoint: Endpoint, tls: ssl.SSLContext | None) -> None:
        self.endpoint = endpoint
        self._tls = tls
        self._turns = asyncio.Semaphore(REQUESTS_MAX)
        self._kept: list[Connection] = []
        """Idle connections; the one used last is taken first."""
        self._used: set[Connection] = set()
        self._streaming: list[Connection] = []
        self._is_closed = False

    async def ask(self, path: str, body: bytes, token: str | None, deadline: float) -> bytes:
        """The body of the answer. Raises NotSent, NoAnswer and Refused."""
        try:
            async with asyncio.timeout_at(deadline):
                await self._turns.acquire()
        except TimeoutError:
            raise NotSent(f"{REQUESTS_MAX} earlier requests are still unanswered") from None
        try:
            connection = self._take_kept() or await self._connect(deadline)
            status, answer = await self._ask(connection, path, body, token, deadline)
        finally:
            self._turns.release()
        if status != 200:
            raise refusal(status, answer)
        return answer

    async def stream(self, path: str, body: bytes, token: str | None, deadline: float) -> Stream:
        """Opens a streamed answer, on a connection of its own."""
        connection = await self._connect(deadline)
        self._streaming = [each for each in self._streaming if each.is_open]
        self._streaming.append(connection)
        return connection.stream(path, body, token)

    def abort(self) -> None:
        """Closes all connections; every pending request fails."""
        for connection in [*self._kept, *self._used, *self._streaming]:
            connection.abort()
        self._kept.clear()

    def close(self) -> None:
        self._is_closed = True
        self.abort()

    async def _ask(
        self, connection: Connection, path: str, body: bytes, token: str | None, deadline: float
    ) -> tuple[int, bytes]:
        with self._in_use(connection):
            try:
                async with asyncio.timeout_at(deadline):
                    answer = await connection.ask(path, body, token)
            except TimeoutError:
                raise NoAnswer("it did not answer in time") from None
        if connection.is_open:
            self._kept.append(connection)
        return answer

    def _take_kept(self) -> Connection | None:
        while self._kept:
            connection = self._kept.pop()
            if connection.is_open:
                return connection
            connection.abort()
        return None

    async def _connect(self, deadline: float) -> Connection:
        soon = asyncio.get_running_loop().time() + CONNECT_SECONDS_MAX
        try:
            async with asyncio.timeout_at(min(deadline, soon)):
                connection = await connect(self.endpoint, self._tls)
        except TimeoutError:
            raise NotSent("it did not accept a connection in time") from None
        if self._is_closed:
            connection.abort()
            raise NotSent("the metadata store is closed")
        return connection

    @contextmanager
    def _in_use(self, connection: Connection) -> Iterator[None]:
        self._used.add(connection)
        try:
            yield
        except BaseException:
            # The rest of an unread answer must not be taken for the next request's.
            connection.abort()
            raise
        finally:
            self._used.discard(connection)
