"""The simulator's store, for the tests that every MetaStore passes."""

import asyncio
from random import Random

from duolog.ports.metastore import LeaseId, MetaStore
from duolog.sim.links import Links
from duolog.sim.loop import new_loop
from duolog.sim.seed import Seed
from duolog.sim.store import SimStore
from duolog.sim.store_server import StoreServer
from duolog.sim.world import NS_PER_MS, World

STEP_NS = 50_000


class SimHarness:
    """Its world goes on a little with each turn of the test's own loop."""

    ttl_ms = 2_000

    def __init__(self, history_revisions_max: int) -> None:
        self._world = World(Seed(1))
        self._links = Links(Random(1))
        self._server = StoreServer(self._world, history_revisions_max)
        self._turn: asyncio.Handle | None = None

    async def open(self) -> MetaStore:
        self._server.come_back()
        own = asyncio.get_running_loop()
        loop = new_loop(self._world, "test")
        loop.create_future = own.create_future
        if self._turn is None:
            self._go_on(own)
        return SimStore(self._server, self._links, "test", loop, Random(1))

    def _go_on(self, own: asyncio.AbstractEventLoop) -> None:
        self._world.run_for(STEP_NS)
        self._turn = own.call_soon(self._go_on, own)

    async def pass_ms(self, duration_ms: int) -> None:
        self._world.run_for(duration_ms * NS_PER_MS)

    async def outlast(self, lease: LeaseId) -> None:
        await self.pass_ms(self.ttl_ms * 3 // 2)

    async def compact(self, store: MetaStore) -> None:
        self._server.compact()

    async def close(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
        self._world.close()
