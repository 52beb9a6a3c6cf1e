"""Leaders on full disks, from what the nodes say in the store."""

import uuid
from collections.abc import AsyncIterator

import pytest
from tests.fakes.cluster_bench import ClusterBench
from tests.fakes.cluster_nodes import ManualClock, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.membership.entries import encode, statement_key
from duolog.model.statement import Statement
from duolog.ports.metastore import Put


@pytest.fixture
async def bench() -> AsyncIterator[ClusterBench]:
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock)
    bench = ClusterBench(store, clock)
    await bench.start(1, 2, 3)
    yield bench
    await bench.stop()
    await store.close()


async def topics(bench: ClusterBench, count: int) -> list[uuid.UUID]:
    catalog = bench.nodes[1].catalog
    await eventually(lambda: len(bench.nodes[1].cluster.live) == 3)
    made = [
        await catalog.create_topic(
            f"orders-{number}", 1, {"min.insync.replicas": "2"}, assignment={0: (1, 2, 3)}
        )
        for number in range(count)
    ]
    return [topic.id for topic in made]


async def say(bench: ClusterBench, node: int, *, full: bool) -> None:
    membership = bench.nodes[node].membership
    statement = Statement(node, membership.epoch, full=full)
    await bench.store.transact([], [Put(statement_key(node), encode(statement), membership.lease)])


async def test_a_node_that_says_that_its_disk_is_full_leads_nothing_any_more(
    bench: ClusterBench,
) -> None:
    made = await topics(bench, 5)
    await say(bench, 1, full=True)
    for topic in made:
        state = await bench.until_state(topic, lambda state: state.leader != 1)
        assert (state.leader, state.leader_epoch, state.in_sync) == (2, 1, (2, 3))
    ruling = bench.controller
    assert ruling is not None
    await ruling.controller.events.written()
    assert "leader moved" in await bench.event_kinds()


async def test_a_leader_stays_where_no_set_could_spare_it(bench: ClusterBench) -> None:
    (topic,) = await topics(bench, 1)
    await say(bench, 3, full=True)
    await bench.until_state(topic, lambda state: state.in_sync == (1, 2))
    await say(bench, 1, full=True)
    before = await bench.state(topic)
    # What the controller does about the node that is lost next, it does after what was said before.
    other = await bench.nodes[2].catalog.create_topic("other", 1, {}, assignment={0: (3, 2)})
    await bench.kill(3)
    await bench.until_state(other.id, lambda state: state.leader == 2)
    assert await bench.state(topic) == before
