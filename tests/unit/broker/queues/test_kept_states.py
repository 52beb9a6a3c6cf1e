"""A leader that comes back goes on from what it had read, unless the logs have it no more."""

import asyncio
from random import Random
from typing import Any

import pytest
from tests.fakes.queue_cluster import QueueCluster, QueueNode, bodies
from tests.fakes.replicas import eventually
from tests.unit.broker.queues.openings import known, opened, read_fully, reading

from duolog.broker import admission
from duolog.broker.admission import at_once
from duolog.broker.partition import Partition
from duolog.broker.queues import kept_states, recovery, snapshots
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.message import Outgoing
from duolog.model.errors import LeadershipLost
from duolog.records.record import Record

NAME = "work.fifo"


async def make(cluster: QueueCluster) -> QueueNode:
    """A FIFO queue that node 1 leads."""
    one = cluster.node(1)
    await one.broker.catalog.create_topic(
        NAME, 1, {"min.insync.replicas": "2"}, assignment={0: (1, 2, 3)}
    )
    await one.create(NAME, FifoQueue="true")
    await cluster.known(NAME)
    return one


def message(number: int) -> Outgoing:
    return Outgoing(f"{number}", group_id=f"g{number % 3}", deduplication_id=f"{number}")


async def handle(node: QueueNode, first: int, last: int) -> None:
    """Sends messages, and receives and deletes all but the last of them."""
    await node.send(NAME, *(message(number) for number in range(first, last)))
    for _ in range(last - first - 1):
        (received,) = await node.receive(NAME, 1, visibility_ms=3_600_000)
        assert await node.delete(NAME, received.receipt_handle) == [None]


async def lead(cluster: QueueCluster, node: int) -> QueuePartition:
    await cluster.elect_all(NAME, 0, node, in_sync=(1, 2, 3))
    await eventually(lambda: cluster.node(node).partition_of(NAME) is not None)
    partition = cluster.node(node).partition_of(NAME)
    assert partition is not None
    return partition


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Offsets of the messages that openings read."""
    offsets: list[int] = []
    remember = QueuePartition.remember

    def note(self: QueuePartition, record: Record, now_ms: int, **how: bool) -> None:
        assert record.offset is not None
        offsets.append(record.offset)
        remember(self, record, now_ms, **how)

    monkeypatch.setattr(QueuePartition, "remember", note)
    return offsets


async def test_a_leader_that_comes_back_reads_only_what_is_new(
    cluster: QueueCluster, read: list[int]
) -> None:
    one = await make(cluster)
    await handle(one, 0, 5)
    await lead(cluster, 2)
    await handle(cluster.node(2), 5, 9)
    read.clear()
    await lead(cluster, 1)
    assert read == [5, 6, 7, 8]
    for number in range(9):
        await one.send(NAME, message(number))
    assert await one.counts(NAME) == (2, 0, 0)
    left = [each for _ in range(3) for each in bodies(await one.receive(NAME, 1))]
    assert left == ["7", "8"]


async def test_what_the_log_has_no_more_is_not_gone_on_from(
    cluster: QueueCluster, read: list[int]
) -> None:
    one = await make(cluster)
    await handle(one, 0, 3)
    cluster.isolate(1)
    sending = asyncio.ensure_future(one.send(NAME, message(3)))
    receiving = asyncio.ensure_future(one.receive(NAME, 10))
    await asyncio.sleep(0.05)
    await cluster.elect_all(NAME, 0, 2, in_sync=(2, 3))
    for lost in (sending, receiving):
        with pytest.raises(LeadershipLost):
            await lost
    cluster.heal()
    two = cluster.node(2)
    await handle(two, 4, 6)
    read.clear()
    await eventually(
        lambda: (
            one.broker.partition(NAME, 0).log.end_offset
            == two.broker.partition(NAME, 0).log.end_offset
        )
    )
    await lead(cluster, 1)
    assert read == [0, 1, 2, 3, 4]
    assert await one.counts(NAME) == (2, 0, 0)
    await one.send(NAME, message(3))
    assert await one.counts(NAME) == (3, 0, 0)


async def until_level(cluster: QueueCluster) -> None:
    """Until all copies of messages and journal are equally long."""

    def ends(name: str) -> set[int]:
        return {node.broker.partition(name, 0).log.end_offset for node in cluster.living}

    await eventually(lambda: len(ends(NAME)) == len(ends(f"__queue.{NAME}")) == 1)


@pytest.mark.parametrize("seed", range(4))
async def test_whoever_leads_knows_what_reading_everything_tells(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(snapshots, "PIECE_BYTES", 300)
    chance = Random(seed)
    node = await make(cluster)
    for number in range(0, 60, 5):
        await handle(node, number, number + 4)
        partition = node.partition_of(NAME)
        assert partition is not None
        if chance.random() < 0.4:
            node.queues._upkeep.save(partition)
        after = chance.choice([each for each in (1, 2, 3) if each != node.id])
        await until_level(cluster)
        if chance.random() < 0.5:
            await lead(cluster, after)
        else:
            # What it does last, it cannot tell the others.
            cluster.isolate(node.id)
            last = [node.send(NAME, message(number + 4)), node.receive(NAME, 3)]
            lost = asyncio.gather(*last, return_exceptions=True)
            await asyncio.sleep(0.02)
            others = tuple(each for each in (1, 2, 3) if each != node.id)
            await cluster.elect_all(NAME, 0, after, in_sync=others)
            await eventually(lambda at=after: cluster.node(at).partition_of(NAME) is not None)
            cluster.heal()
            await lost
        node = cluster.node(after)
        partition = node.partition_of(NAME)
        assert partition is not None
        expected = read_fully(node.queues, NAME, monkeypatch)
        assert known(partition, node.queues.clock.now_ms()) == expected
        beside = opened(node.queues, NAME)
        at_once(reading(node.queues, NAME, beside))
        assert known(beside, node.queues.clock.now_ms()) == expected


async def test_an_opening_that_is_abandoned_is_gone_on_with(
    cluster: QueueCluster, read: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await make(cluster)
    await handle(one, 0, 40)
    serving, queue = one.queues._serving, one.queues.local(NAME)
    serving.end(queue, 0)
    serving._kept.forget(queue.entry.id.bytes)
    read.clear()
    monkeypatch.setattr(admission, "TURN_NS", 0)
    monkeypatch.setattr(admission, "STEPS_UNSEEN", 1)
    serving.begin(queue, 0)
    async with asyncio.timeout(20):
        while len(read) < 10:
            await asyncio.sleep(0)
    serving.end(queue, 0)
    await eventually(lambda: len(serving._kept) == 1)
    assert len(read) < 40
    serving.begin(queue, 0)
    await serving.until_open(queue, 0)
    assert read == list(range(40))
    assert await one.counts(NAME) == (1, 0, 0)


async def test_an_opening_begins_with_what_another_leader_has_written_a_snapshot_of(
    cluster: QueueCluster,
) -> None:
    one = await make(cluster)
    await handle(one, 0, 5)
    two = await lead(cluster, 2)
    cluster.node(2).queues._upkeep.save(two)
    await handle(cluster.node(2), 5, 7)
    partition = await lead(cluster, 1)
    assert partition.journal is not None
    assert two.journal is not None
    assert partition.journal.snapshot_offset > 0
    assert partition.enqueued_since_snapshot == 2


async def test_states_are_kept_for_a_while_and_not_without_bound(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await make(cluster)
    await handle(one, 0, 5)
    kept = one.queues._serving._kept
    await lead(cluster, 2)
    await eventually(lambda: len(kept) == 1)
    monkeypatch.setattr(kept_states, "KEPT_MS_MAX", 0)
    kept._drop_some()
    assert len(kept) == 0
    monkeypatch.undo()
    monkeypatch.setattr(kept_states, "KEPT_ITEMS_MAX", 4)
    await lead(cluster, 1)
    await lead(cluster, 2)
    assert len(kept) == 0


async def test_the_state_of_a_copy_that_is_dropped_is_dropped(cluster: QueueCluster) -> None:
    one = await make(cluster)
    await handle(one, 0, 5)
    kept = one.queues._serving._kept
    await lead(cluster, 2)
    await eventually(lambda: len(kept) == 1)
    await cluster.elect_all(NAME, 0, 2, in_sync=(2, 3), replicas=(2, 3))
    await eventually(lambda: (NAME, 0) not in one.broker.routes)
    kept._drop_some()
    assert len(kept) == 0


async def test_who_waits_for_replicas_holds_up_no_other_opening(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await make(cluster)
    await handle(one, 0, 5)
    until_committed = Partition.until_committed

    async def never(self: Partition, end_offset: int) -> None:
        if self.topic.name.endswith(NAME):
            await asyncio.Event().wait()
        await until_committed(self, end_offset)

    monkeypatch.setattr(Partition, "until_committed", never)
    serving, queue = one.queues._serving, one.queues.local(NAME)
    serving.reopen(queue, 0)
    async with asyncio.timeout(5):
        await one.create("other")
        await cluster.known("other")
    assert queue.partition(0) is None


async def test_who_waits_for_the_disk_holds_up_no_other_opening(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = await make(cluster)
    await handle(one, 0, 5)

    async def never(*args: Any) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(recovery, "_write_anew", never)
    serving, queue = one.queues._serving, one.queues.local(NAME)
    partition = queue.partition(0)
    assert partition is not None
    partition.progress.knows_too_much = True
    serving.reopen(queue, 0)
    async with asyncio.timeout(5):
        await one.create("other")
        await cluster.known("other")
    assert queue.partition(0) is None
