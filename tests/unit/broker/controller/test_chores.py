import uuid

import pytest
from tests.fakes.cluster_bench import ClusterBench
from tests.fakes.cluster_nodes import ManualClock, eventually

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.controller import controller as controller_module
from duolog.broker.controller.controller import BALANCE_INTERVAL_MS
from duolog.broker.controller.orphans import UNTOUCHED_MS, OrphanSweep
from duolog.broker.membership.entries import encode, load_key
from duolog.core.controller.autoscale import HOT_LOAD, IDLE_LOOKS
from duolog.model.load import LoadReport, PartitionLoad
from duolog.model.partition_state import PartitionState
from duolog.ports.metastore import Put


@pytest.fixture
async def bench(monkeypatch):
    monkeypatch.setattr(controller_module, "_IDLE_LOOK_S", 0.005)
    clock = ManualClock()
    store = await SqliteStore.open(":memory:", clock)
    bench = ClusterBench(store, clock)
    yield bench
    await bench.stop()
    await store.close()


async def keep_alive(bench: ClusterBench, ms: int) -> None:
    """Let time pass, in steps that no lease ends in."""
    for _ in range(ms // 1_000):
        bench.clock.advance(1_000)
        for node in bench.nodes.values():
            await node.membership.renew()
            node.membership.check()


async def test_a_hot_topic_is_given_more_partitions(bench) -> None:
    await bench.start(1)
    node = bench.nodes[1]
    node.controller.grow = node.catalog.create_partitions
    topic = await node.catalog.create_topic("orders", 1, {"autoscale.max.partitions": "4"})
    load = PartitionLoad(topic.id, 0, bytes_per_s=2 * HOT_LOAD, requests_per_s=0.0)
    report = LoadReport(1, bytes_in_per_s=2 * HOT_LOAD, partitions=(load,))
    await bench.store.transact([], [Put(load_key(1), encode(report))])

    async def is_reported() -> bool:
        await keep_alive(bench, BALANCE_INTERVAL_MS)
        return "partitions added" in await bench.event_kinds()

    await bench.until(is_reported)
    assert node.catalog.get("orders").partitions > 1


async def test_an_idle_queue_uses_fewer_partitions(bench) -> None:
    await bench.start(1)
    node = bench.nodes[1]
    node.controller.open = node.catalog.open_partitions
    await node.catalog.create_topic("orders", 4, {"autoscale.max.partitions": "4"})
    await node.catalog.create_topic("__queue.orders", 4, {}, beside="orders")

    async def is_reported() -> bool:
        await keep_alive(bench, BALANCE_INTERVAL_MS)
        return "partitions closed" in await bench.event_kinds()

    for _ in range(IDLE_LOOKS):
        await is_reported()
    await bench.until(is_reported)
    topic = node.catalog.get("orders")
    assert (topic.partitions, topic.open_partition_count) == (4, 2)


async def test_what_belongs_to_no_topic_is_removed_after_a_while(bench) -> None:
    await bench.start(1)
    catalog = bench.nodes[1].catalog
    sweep = OrphanSweep(catalog, bench.clock)
    key = partition_key(uuid.UUID(int=99), 0)
    await bench.store.transact([], [Put(key, encode_state(PartitionState(1, 0, (1,), (1,))))])
    await eventually(lambda: key in catalog.orphans())
    bench.clock.advance(UNTOUCHED_MS)
    await sweep.sweep()
    assert await bench.store.get(key) is not None, "it may be of a topic that is being made"
    bench.clock.advance(UNTOUCHED_MS)
    await sweep.sweep()
    assert await bench.store.get(key) is None
