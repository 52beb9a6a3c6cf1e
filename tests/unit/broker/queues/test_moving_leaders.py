"""Requests that meet a queue while its partitions, or their leaders, are becoming others."""

import asyncio
from functools import partial
from typing import Any

import pytest
from tests.fakes.queue_cluster import QueueCluster, QueueNode, bodies
from tests.fakes.replicas import eventually, write

from duolog.broker.queues import serving
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.recovery import open_state
from duolog.broker.queues.routing import served_queue
from duolog.broker.queues.routing.leaders import Leaders
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.core.queues.message import Outgoing
from duolog.core.queues.routing import partition_for_group
from duolog.model.errors import NotLeader, PeerFailed, StorageFailed
from duolog.records.changes import Deleted

BY_GROUP = {"FifoQueue": "true", "DeduplicationScope": "messageGroup"}


async def make(cluster: QueueCluster, name: str = "work", **attributes: str) -> QueueNode:
    """A queue that node 1 leads."""
    one = cluster.node(1)
    await one.broker.catalog.create_topic(name, 1, {}, assignment={0: (1, 2, 3)})
    await one.create(name, **attributes)
    await cluster.known(name)
    return one


async def grow(cluster: QueueCluster, name: str) -> None:
    one = cluster.node(1)
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
    assert await served(one, "work.fifo").send([message], only_known_to=0) == [None]
    with pytest.raises(NotLeader):
        await served(one, "work.fifo").send([message], only_known_to=1)


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


async def test_what_is_sent_a_moment_before_a_queue_is_open_is_answered(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = cluster.node(1)
    answers: list[object] = []

    async def open_and_send(partition: QueuePartition, *args: Any) -> None:
        await open_state(partition, *args)
        one.queues.local("work").send([Outgoing("later", delay_seconds=1)], answers.append)

    monkeypatch.setattr(serving, "open_state", open_and_send)
    await make(cluster)
    await eventually(lambda: answers)
    assert isinstance(answers[0], NotLeader)


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


def a_group(home: int, partitions: int) -> str:
    """One that goes to this partition when there are so many."""
    groups = (f"g{number}" for number in range(1_000))
    return next(each for each in groups if partition_for_group(each.encode(), partitions) == home)


async def test_a_leader_lets_a_group_in_only_by_the_revision_that_it_knows(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster, "work.fifo", **BY_GROUP)
    before = one.broker.catalog.get("work.fifo").mod_revision
    message = Outgoing("a", group_id=a_group(0, 3), deduplication_id="1")
    assert len(await served(one, "work.fifo").send([message], topic_revision=before)) == 1
    await grow(cluster, "work.fifo")
    after = one.broker.catalog.get("work.fifo").mod_revision
    again = Outgoing("b", group_id=message.group_id, deduplication_id="2")
    with pytest.raises(NotLeader):
        await served(one, "work.fifo").send([again], topic_revision=before)
    with pytest.raises(NotLeader):
        await served(one, "work.fifo").send([again], topic_revision=after + 1)
    assert len(await served(one, "work.fifo").send([again], topic_revision=after)) == 1


async def test_a_front_end_that_has_not_heard_of_more_partitions_overtakes_nothing(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, late = cluster.node(1), cluster.node(3)
    await one.broker.catalog.create_topic("work.fifo", 1, {}, assignment={0: (1, 2)})
    await one.create("work.fifo", **BY_GROUP)
    await cluster.known("work.fifo")
    group = a_group(1, 2)
    act, heard = late.broker.catalog.follower.act, asyncio.Event()

    async def act_late(change: Any) -> None:
        await heard.wait()
        await act(change)

    monkeypatch.setattr(late.broker.catalog.follower, "act", act_late)
    await one.broker.catalog.create_partitions("work.fifo", 2, assignment={1: (2, 1)})
    await eventually(lambda: cluster.node(2).partition_of("work.fifo", 1) is not None)
    # In its new home already, of which the third node knows nothing.
    await cluster.node(2).send("work.fifo", Outgoing("1", group_id=group, deduplication_id="1"))
    sending = asyncio.create_task(
        late.send("work.fifo", Outgoing("2", group_id=group, deduplication_id="2"))
    )
    await asyncio.sleep(0.1)
    assert not sending.done()
    heard.set()
    await sending
    assert bodies(await one.receive("work.fifo")) == ["1", "2"]


async def test_a_group_waits_for_its_old_partition_to_be_opened(cluster: QueueCluster) -> None:
    one = await make(cluster, "work.fifo", **BY_GROUP)
    group = a_group(1, 2)
    await one.send("work.fifo", Outgoing("1", group_id=group, deduplication_id="1"))
    await one.broker.catalog.create_partitions("work.fifo", 2, assignment={1: (1, 2, 3)})
    await cluster.known("work.fifo")
    queue = one.queues.local("work.fifo")
    one.queues._serving.end(queue, 0)
    sending = asyncio.create_task(
        cluster.node(2).send("work.fifo", Outgoing("2", group_id=group, deduplication_id="2"))
    )
    await asyncio.sleep(0.1)
    assert not sending.done()
    one.queues._serving.begin(queue, 0)
    await sending
    assert bodies(await one.receive("work.fifo")) == ["1", "2"]


async def test_repetitions_are_recognised_in_a_queue_of_several_partitions(
    cluster: QueueCluster,
) -> None:
    one = cluster.node(1)
    await one.broker.catalog.create_topic(
        "work.fifo", 3, {}, assignment={0: (1, 2, 3), 1: (2, 3, 1), 2: (3, 1, 2)}
    )
    await one.create("work.fifo", FifoQueue="true")
    await cluster.known("work.fifo")
    for node in cluster.living:
        await node.send(
            "work.fifo", Outgoing("once", group_id=f"{node.id}", deduplication_id="same")
        )
    assert await one.counts("work.fifo") == (1, 0, 0)


async def test_a_queue_that_compares_all_its_messages_again_keeps_its_groups_in_order(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster, "work.fifo", **BY_GROUP)
    await grow(cluster, "work.fifo")
    group = a_group(1, 3)
    await one.send("work.fifo", Outgoing("1", group_id=group, deduplication_id="1"))
    await cluster.node(2).queues.set_attributes("work.fifo", {"DeduplicationScope": "queue"})
    known = [node.queues.local("work.fifo") for node in cluster.living]
    await eventually(lambda: {each.config.deduplication_scope for each in known} == {"queue"})
    await cluster.node(3).send("work.fifo", Outgoing("2", group_id=group, deduplication_id="2"))
    other = Outgoing("3", group_id=a_group(2, 3), deduplication_id="2")
    await cluster.node(1).send("work.fifo", other)
    assert bodies(await one.receive("work.fifo")) == ["1", "2"]
    assert await one.receive("work.fifo") == []
