"""What can go wrong between a node and the metadata store; the rest is in tests/conformance."""

import asyncio

import pytest

from duolog.ports.metastore import Put, StoreUnavailable
from duolog.sim.links import Links
from duolog.sim.loop import new_loop
from duolog.sim.seed import Seed
from duolog.sim.store import SimStore
from duolog.sim.store_server import STORE, StoreServer
from duolog.sim.world import World


class Bench:
    def __init__(self):
        self.world = World(Seed(1))
        self.links = Links(self.world.seed.random("links"))
        self.server = StoreServer(self.world)
        self.loop = new_loop(self.world, "node")
        self.store = SimStore(
            self.server, self.links, "node", self.loop, self.world.seed.random("store")
        )

    def run(self, work):
        async def main():
            task = self.loop.create_task(work)
            await asyncio.sleep(60)
            return task.result()

        return self.world.run(main())


@pytest.fixture
def bench():
    made = Bench()
    yield made
    made.world.close()


def test_a_request_that_is_lost_changes_nothing(bench):
    bench.links.cut("node", STORE)
    with pytest.raises(StoreUnavailable):
        bench.run(bench.store.transact([], [Put("a", b"")]))
    assert bench.server.get("a") is None


def test_an_answer_that_is_lost_leaves_the_outcome_unknown(bench):
    bench.links.cut(STORE, "node")
    with pytest.raises(StoreUnavailable):
        bench.run(bench.store.transact([], [Put("a", b"")]))
    assert bench.server.get("a") is not None


def test_a_dead_process_may_have_asked_for_something(bench):
    async def main():
        bench.loop.create_task(bench.store.transact([], [Put("a", b"")]))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        bench.loop.end()
        await asyncio.sleep(1)

    bench.world.run(main())
    assert bench.server.get("a") is not None


def test_a_watch_goes_on_where_it_was_when_the_link_is_mended(bench):
    async def work():
        watch = bench.store.watch("a", 1)
        bench.links.cut(STORE, "node")
        for number in range(3):
            bench.server.transact([], [Put("a", b"%d" % number)])
        await asyncio.sleep(5)
        bench.links.heal(STORE, "node")
        return [(await anext(watch)).revision for _ in range(3)]

    assert bench.run(work()) == [1, 2, 3]


def test_a_lease_outlives_the_time_without_a_leader(bench):
    async def work():
        lease = await bench.store.grant_lease(2_000)
        await bench.store.transact([], [Put("a", b"", lease)])
        bench.server.go_away()
        await asyncio.sleep(10)
        bench.server.come_back()
        await asyncio.sleep(1)
        assert bench.server.get("a") is not None
        await asyncio.sleep(2)
        return bench.server.get("a")

    assert bench.run(work()) is None
