"""The MetaStore port of one process: calls take time, and requests or answers may get lost."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from random import Random
from typing import Any, TypeVar

from duolog.ports.metastore import (
    ChangeSet,
    Compare,
    Delete,
    Entry,
    LeaseId,
    Put,
    Snapshot,
    StoreUnavailable,
    TransactionResult,
)
from duolog.sim.links import Links
from duolog.sim.loop import ProcessLoop
from duolog.sim.prices import STORE_ENTRY, STORE_REQUEST
from duolog.sim.store_server import STORE, StoreServer
from duolog.sim.store_watch import StoreWatch
from duolog.sim.world import NS_PER_MS

CALL_MS_MAX = 3_000
COMMIT_NS = 1_000_000
"""Time that the store's members take to agree, on average."""

T = TypeVar("T")


class SimStore:
    """Implements ports.metastore.MetaStore."""

    def __init__(
        self, server: StoreServer, links: Links, machine: str, loop: ProcessLoop, random: Random
    ) -> None:
        self._server = server
        self._links = links
        self._machine = machine
        self._loop = loop
        self._random = random
        self._watches: dict[StoreWatch, None] = {}
        self._is_closed = False

    async def get(self, key: str) -> Entry | None:
        return await self._call(lambda: self._server.get(key))

    async def range(self, prefix: str) -> Snapshot:
        snapshot = await self._call(lambda: self._server.range(prefix))
        for _ in snapshot.entries:
            self._loop.cpu.pay(STORE_ENTRY)
        return snapshot

    async def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        return await self._call(lambda: self._server.transact(compares, operations))

    async def grant_lease(self, ttl_ms: int) -> LeaseId:
        return await self._call(lambda: self._server.grant_lease(ttl_ms))

    async def renew_lease(self, lease: LeaseId) -> None:
        await self._call(lambda: self._server.renew_lease(lease))

    async def revoke_lease(self, lease: LeaseId) -> None:
        await self._call(lambda: self._server.revoke_lease(lease))

    async def watch(self, prefix: str, from_revision: int) -> AsyncIterator[ChangeSet]:
        watch = StoreWatch(
            self._server, self._links, self._machine, self._loop, prefix, from_revision
        )
        self._watches[watch] = None
        try:
            while True:
                while watch.arrived:
                    self._loop.cpu.pay(STORE_ENTRY)
                    yield watch.arrived.popleft()
                if watch.failure is not None:
                    raise watch.failure
                await watch.wait()
        finally:
            watch.close()
            self._watches.pop(watch, None)

    async def close(self) -> None:
        self._is_closed = True
        for watch in list(self._watches):
            watch.fail(StoreUnavailable("the store's client was closed"))

    async def _call(self, work: Callable[[], T]) -> T:
        if self._is_closed:
            raise StoreUnavailable("the store's client was closed")
        self._loop.cpu.pay(STORE_REQUEST)
        answer: asyncio.Future[T] = self._loop.create_future()
        world = self._loop.world
        delay_ns = self._links.latency_ns(self._machine, STORE)
        delay_ns += COMMIT_NS // 2 + self._random.randrange(COMMIT_NS)
        world.after(delay_ns, self._arrive, work, answer)
        late = world.after(CALL_MS_MAX * NS_PER_MS, _give_up, answer, loop=self._loop)
        try:
            return await answer
        finally:
            late.cancel()

    def _arrive(self, work: Callable[[], T], answer: "asyncio.Future[T]") -> None:
        """Serve the request, unless it was lost on the way."""
        # Served even if the process has died or given up since it sent the request.
        if self._links.is_cut(self._machine, STORE) or not self._server.is_available:
            return
        failure: Exception | None = None
        result: Any = None
        try:
            result = work()
        except Exception as error:
            failure = error
        if not self._links.is_cut(STORE, self._machine):
            delay_ns = self._links.latency_ns(STORE, self._machine)
            world = self._loop.world
            world.after(delay_ns, _settle, answer, result, failure, loop=self._loop)


def _settle(answer: "asyncio.Future[Any]", result: Any, failure: Exception | None) -> None:
    if not answer.done():
        if failure is None:
            answer.set_result(result)
        else:
            answer.set_exception(failure)


def _give_up(answer: "asyncio.Future[Any]") -> None:
    if not answer.done():
        answer.set_exception(StoreUnavailable(f"no answer within {CALL_MS_MAX} ms"))
