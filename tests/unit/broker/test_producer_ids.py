import asyncio

import pytest

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.producer_ids import ProducerIds
from duolog.model.errors import RequestTimedOut


class ManualClock:
    def now_ms(self) -> int:
        return 0

    def monotonic_ms(self) -> int:
        return 0


@pytest.fixture
async def store():
    store = await SqliteStore.open(":memory:", ManualClock())
    yield store
    await store.close()


async def test_ids_begin_at_zero_and_follow_each_other(store):
    ids = ProducerIds(store)
    assert [await ids.next_id() for _ in range(3)] == [0, 1, 2]


async def test_a_restart_never_repeats_an_id(store):
    before = {await ProducerIds(store).next_id() for _ in range(3)}
    after = ProducerIds(store)
    assert before.isdisjoint({await after.next_id() for _ in range(1500)})


async def test_two_nodes_never_share_an_id(store):
    here, there = ProducerIds(store), ProducerIds(store)
    given = await asyncio.gather(*(node.next_id() for node in [here, there] * 1500))
    assert len(set(given)) == 3000


async def test_a_burst_of_clients_reserves_one_block(store):
    ids = ProducerIds(store)
    await asyncio.gather(*(ids.next_id() for _ in range(1000)))
    assert (await store.get("producer_ids/next")).value == b"1000"


async def test_a_client_that_hangs_up_costs_the_others_nothing(store):
    ids = ProducerIds(store)
    leaving, staying = asyncio.create_task(ids.next_id()), asyncio.create_task(ids.next_id())
    await asyncio.sleep(0)
    leaving.cancel()
    assert await staying == 0


async def test_without_the_store_there_is_no_id(store):
    ids = ProducerIds(store)
    await store.close()
    for _ in range(2):
        with pytest.raises(RequestTimedOut):
            await ids.next_id()
