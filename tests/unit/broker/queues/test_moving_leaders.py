"""Requests that meet a queue while its partitions, or their leaders, are becoming others."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.group_shell import SetClock
from tests.fakes.queue_cluster import QueueCluster, QueueNode, bodies
from tests.fakes.replicas import eventually, write

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.queues import serving
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.recovery import open_state
from duolog.broker.queues.routing import served_queue
from duolog.broker.queues.routing.leaders import Leaders
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.core.queues.changes import Deleted
from duolog.core.queues.message import Outgoing
from duolog.core.queues.routing import partition_for_group
from duolog.model.errors import NotLeader, PeerFailed, StorageFailed

BY_GROUP = {"FifoQueue": "true", "DeduplicationScope": "messageGroup"}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[QueueCluster]:
    store = await SqliteStore.open(str(tmp_path / "meta.sqlite"), SetClock())
    made = QueueCluster(store)
    await made.start(1, 2, 3)
    yield made
    await made.stop()
    await store.close()


async def make(cluster: QueueCluster, name: str = "work", **attributes: str) -> QueueNode:
    """A queue that node 1 leads."""
    one = cluster.node(1)
    await one.broker.catalog.create_topic(name, 1, {}, assignment={0: (1, 2, 3)})
    await one.create(name, **attributes)
    await cluster.known(name)
    return one


async def grow(cluster: QueueCluster, name: str) -> None:
    one = cluster.node(1)
    one.queues._growing.add(name)
    await one.broker.catalog.create_partitions(name, 3, assignment={1: (2, 3, 1), 2: (3, 1, 2)})
    await cluster.known(name)


def served(node: QueueNode, name: str) -> QueueLink:
    return node.queues.served(name, node.queues.local(name).entry.id.bytes)


async def test_a_repetition_is_recognised_where_its_group_is_no_longer_at_home(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster, "work.fifo", **BY_GROUP)
    group = next(each for each in "abcdefgh" if partition_for_group(each.encode(), 3) == 1)
    message = Outgoing("once", group_id=group, deduplication_id="1")
    sent = await one.send("work.fifo", message)
    (received,) = await one.receive("work.fifo")
    await one.delete("work.fifo", received.receipt_handle)
    await grow(cluster, "work.fifo")
    for node in cluster.living:
        assert await node.send("work.fifo", message) == sent
    assert await one.counts("work.fifo") == (0, 0, 0)


async def test_whether_a_group_is_known_is_told_only_by_who_serves_its_partition(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster, "work.fifo", **BY_GROUP)
    await grow(cluster, "work.fifo")
    message = Outgoing("a", group_id="g", deduplication_id="1")
    assert await served(one, "work.fifo").send([message], known_in=0) == [None]
    with pytest.raises(NotLeader):
        await served(one, "work.fifo").send([message], known_in=1)


async def test_nothing_is_decided_any_more_where_another_node_leads(cluster: QueueCluster) -> None:
    one = await make(cluster)
    await one.send("work", Outgoing("a"))
    await one.receive("work", visibility_ms=0)
    before = one.partition_of("work")
    assert before is not None
    await cluster.elect_all("work", 0, 2)
    await eventually(lambda: before.is_gone)
    with pytest.raises(NotLeader):
        before.change(Deleted((0,)))
    assert await one.counts("work") == (1, 0, 0)


async def test_a_queue_that_cannot_be_opened_holds_up_nobody(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_open = asyncio.Event()

    async def open_or_fail(*args: Any) -> None:
        if not may_open.is_set():
            raise StorageFailed("the disk is full")
        await open_state(*args)

    monkeypatch.setattr(serving, "open_state", open_or_fail)
    monkeypatch.setattr(serving, "OPEN_WAIT_S", 0.02)
    monkeypatch.setattr(serving, "RETRY_S", 0.02)
    async with asyncio.timeout(5):
        await cluster.node(1).create("work")
        may_open.set()
        await cluster.known("work")


async def test_what_is_committed_while_a_queue_is_opened_is_there(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open_slowly(partition: QueuePartition, *args: Any) -> None:
        await open_state(partition, *args)
        write(partition.data, b"meanwhile")
        await partition.data.until_committed(1)

    monkeypatch.setattr(serving, "open_state", open_slowly)
    one = await make(cluster)
    assert bodies(await one.receive("work")) == ["meanwhile"]


async def test_a_receipt_of_a_partition_that_is_not_known_yet_may_be_tried_again(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster)
    await one.send("work", Outgoing("a"))
    await one.receive("work", visibility_ms=0)
    handle = one.queues.local("work").state.receipts.encode(1, 0, 1, 0, 0)
    (result,) = await one.delete("work", handle)
    assert isinstance(result, NotLeader)


async def test_whoever_waits_is_told_of_a_mistake_in_the_node_itself(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster)

    def link(node: int) -> QueueLink:
        raise RuntimeError("a mistake")

    queue = one.queues.local("work")
    routed = RoutedQueue(queue, Leaders(one.broker, queue), link)
    told: asyncio.Queue[Any] = asyncio.Queue()
    routed.send([Outgoing("a")], told.put_nowait)
    assert isinstance(await told.get(), PeerFailed)
    routed.receive(count=1, wait_ms=0, visibility_ms=None, attempt=None, done=told.put_nowait)
    assert isinstance(await told.get(), PeerFailed)


async def test_an_answer_to_another_node_is_bounded_but_has_a_message(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_queue, "ANSWER_BYTES_MAX", 2_500)
    one = await make(cluster)
    await one.send("work", *(Outgoing(str(each) * 1_000) for each in range(3)))
    await one.send("work", Outgoing("large" * 1_000))
    receive = partial(cluster.node(2).receive, "work", 10)
    assert [len(each) for each in bodies(await receive())] == [1_000, 1_000]
    assert [len(each) for each in bodies(await receive())] == [1_000]
    assert [len(each) for each in bodies(await receive())] == [5_000]
    assert await one.counts("work") == (0, 4, 0)
