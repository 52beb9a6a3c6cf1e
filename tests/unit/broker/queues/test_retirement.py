"""A queue that uses fewer partitions: they are emptied, and left in peace; none is removed."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.fakes.group_shell import SetClock
from tests.fakes.queue_cluster import QueueCluster, bodies
from tests.fakes.replicas import eventually, write

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.queues import registry
from duolog.core.queues.message import Outgoing


@pytest.fixture
async def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[QueueCluster]:
    monkeypatch.setattr(registry, "UPKEEP_MS", 20)
    store = await SqliteStore.open(str(tmp_path / "meta.sqlite"), SetClock())
    made = QueueCluster(store)
    await made.start(1, 2, 3)
    await made.node(1).broker.catalog.create_topic(
        "work", 3, {}, assignment={0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
    )
    await made.node(1).create("work")
    await made.known("work")
    yield made
    await made.stop()
    await store.close()


async def close(cluster: QueueCluster, count: int) -> None:
    await cluster.node(1).broker.catalog.open_partitions("work", count)
    await eventually(
        lambda: all(
            node.broker.catalog.get("work").open_partition_count == count for node in cluster.living
        )
    )


def retired(cluster: QueueCluster) -> set[tuple[int, ...]]:
    """As each node knows; some time goes by."""
    cluster.clock.at_ms += 10
    return {node.broker.catalog.get("work").retired for node in cluster.living}


async def test_new_messages_go_to_the_partitions_that_take_them(cluster: QueueCluster) -> None:
    await close(cluster, 1)
    for node in cluster.living:
        await node.send("work", *(Outgoing(f"{node.id}-{each}") for each in range(5)))
    queue = cluster.node(1).queues.local("work")
    assert queue.counts().ready == 15


async def test_a_closed_partition_is_emptied_by_receivers_and_then_left(
    cluster: QueueCluster,
) -> None:
    for node in cluster.living:
        await node.send("work", Outgoing(f"{node.id}"))
    await close(cluster, 1)
    one = cluster.node(1)
    found = []
    while received := await one.receive("work", 10):
        found += bodies(received)
        assert retired(cluster) != {(1, 2)}
        await one.delete("work", *(each.receipt_handle for each in received))
    assert sorted(found) == ["1", "2", "3"]
    await eventually(lambda: retired(cluster) == {(1, 2)})
    assert one.broker.catalog.get("work").partitions == 3
    assert one.queues._routed[one.queues.local("work")]._leaders.nodes() == [1]


async def test_what_a_kafka_producer_writes_to_a_retired_partition_is_received(
    cluster: QueueCluster,
) -> None:
    await close(cluster, 1)
    await eventually(lambda: retired(cluster) == {(1, 2)})
    write(cluster.node(2).broker.partition("work", 1), b"a record")
    await eventually(lambda: retired(cluster) == {(2,)})
    assert len(await cluster.node(1).receive("work", wait_ms=2_000)) == 1


async def test_a_partition_that_is_used_again_is_asked_again(cluster: QueueCluster) -> None:
    await close(cluster, 1)
    await eventually(lambda: retired(cluster) == {(1, 2)})
    await close(cluster, 2)
    assert retired(cluster) == {(2,)}
    await cluster.node(1).broker.catalog.create_partitions("work", 4, assignment={3: (1, 2, 3)})
    await eventually(lambda: retired(cluster) == {()})
    await cluster.known("work")
    for node in cluster.living:
        await node.send("work", Outgoing(f"{node.id}"))
    found = []
    while received := await cluster.node(3).receive("work", 10):
        found += bodies(received)
    assert sorted(found) == ["1", "2", "3"]


async def test_a_new_leader_takes_back_what_the_old_one_noted(cluster: QueueCluster) -> None:
    await close(cluster, 2)
    await eventually(lambda: retired(cluster) == {(2,)})
    await cluster.node(2).broker.catalog.open_partitions("work", None)
    await eventually(lambda: retired(cluster) == {()})
    await cluster.node(3).send("work", Outgoing("there"))
    await close(cluster, 2)
    topic = cluster.node(1).broker.catalog.get("work")
    await cluster.node(1).broker.catalog.retire_partition("work", topic.id, 2)
    await cluster.elect_all("work", 2, 1)
    await eventually(lambda: cluster.node(1).partition_of("work", 2) is not None)
    await eventually(lambda: retired(cluster) == {()})
    assert bodies(await cluster.node(2).receive("work", wait_ms=2_000)) == ["there"]
