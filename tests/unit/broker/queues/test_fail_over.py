"""Another node leads a queue: what was told by the one before it holds."""

import asyncio

import pytest
from tests.fakes.queue_cluster import QueueCluster, QueueNode, bodies
from tests.fakes.replicas import eventually, write

from duolog.broker.housekeeping import Housekeeping
from duolog.broker.queues import doubts, topics, upkeep
from duolog.broker.queues import snapshots as snapshots_module
from duolog.core.queues.message import Outgoing
from duolog.model.errors import LeadershipLost, NotEnoughReplicas, NotLeader, Refusal, StorageFailed

HIDDEN_MS = 3_600_000


async def make(cluster: QueueCluster, name: str = "work", **attributes: str) -> None:
    """A queue that node 1 leads and everybody copies."""
    await cluster.node(1).broker.catalog.create_topic(
        name, 1, {"min.insync.replicas": "2"}, assignment={0: (1, 2, 3)}
    )
    await cluster.node(1).create(name, **attributes)
    await cluster.known(name)


@pytest.mark.parametrize("with_snapshot", [False, True], ids=["changes", "snapshot"])
async def test_the_next_leader_knows_what_is_in_flight_and_what_is_done(
    cluster: QueueCluster, with_snapshot: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots_module, "PIECE_BYTES", 50)
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", *(Outgoing(str(each)) for each in range(9)))
    taken = {
        each.message.body: each for each in await one.receive("work", 6, visibility_ms=HIDDEN_MS)
    }
    done = sorted(taken)[:3]
    await one.delete("work", *(taken.pop(each).receipt_handle for each in done))
    if with_snapshot:
        partition = one.partition_of("work")
        assert partition is not None
        one.queues._upkeep.save(partition)
        await one.queues._upkeep.stop()
        assert partition.journal is not None
        await partition.journal.partition.until_committed(partition.journal.end_offset)
    after = await cluster.fail_over("work")
    other = cluster.node(5 - after)
    assert await other.counts("work") == (3, 3, 0)
    rest = await other.receive("work", 10)
    assert sorted(bodies(rest)) == [str(each) for each in range(9) if each >= 6]
    # A receipt of the leader before is as good as one of this.
    for received in (*taken.values(), *rest):
        assert await other.delete("work", received.receipt_handle) == [None]
    assert await other.counts("work") == (0, 0, 0)


async def test_a_node_that_stops_spares_the_next_leader_what_it_knows(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_WORTH_NS", 1)
    name = "work.fifo"
    await make(cluster, name, FifoQueue="true")
    one = cluster.node(1)
    message = Outgoing("a", group_id="g", deduplication_id="1")
    await one.send(name, message)
    await one.receive(name, visibility_ms=HIDDEN_MS)
    await one.queues.save()
    await cluster.elect_all(name, 0, 2, in_sync=(2, 3))
    two = cluster.node(2)
    await eventually(lambda: two.partition_of(name) is not None)
    partition = two.partition_of(name)
    assert partition is not None
    assert partition.tail == (0, 0)
    await two.send(name, message)
    assert await two.counts(name) == (0, 1, 0)


async def test_requests_wait_for_the_next_leader(cluster: QueueCluster) -> None:
    await make(cluster)
    await cluster.node(1).send("work", Outgoing("a"))
    (received,) = await cluster.node(1).receive("work", visibility_ms=HIDDEN_MS)
    await cluster.kill(1)
    asked = [
        asyncio.ensure_future(cluster.node(3).send("work", Outgoing("b"))),
        asyncio.ensure_future(cluster.node(2).delete("work", received.receipt_handle)),
        asyncio.ensure_future(cluster.node(2).receive("work", wait_ms=5_000)),
    ]
    await asyncio.sleep(0.3)
    assert not any(each.done() for each in asked)
    await cluster.elect_all("work", 0, 2, in_sync=(2, 3))
    (sent,) = await asked[0]
    assert not isinstance(sent, Refusal)
    assert await asked[1] == [None]
    assert bodies(await asked[2]) == ["b"]


async def test_what_nobody_could_confirm_is_not_reported_as_done(cluster: QueueCluster) -> None:
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", Outgoing("a"))
    (received,) = await one.receive("work", visibility_ms=HIDDEN_MS)
    cluster.isolate(1)
    deleting = asyncio.ensure_future(one.delete("work", received.receipt_handle))
    sending = asyncio.ensure_future(one.send("work", Outgoing("b")))
    await asyncio.sleep(0.05)
    assert not deleting.done()
    await cluster.elect_all("work", 0, 2, in_sync=(2, 3))
    with pytest.raises(LeadershipLost):
        await deleting
    with pytest.raises(LeadershipLost):
        await sending
    assert await cluster.node(3).counts("work") == (0, 1, 0)
    assert await cluster.node(3).delete("work", received.receipt_handle) == [None]


async def test_what_was_sent_to_a_copy_that_is_given_up_may_be_in_the_others(
    cluster: QueueCluster,
) -> None:
    """Or it would be sent again by whoever hears that it was not taken."""
    await make(cluster)
    one = cluster.node(1)
    cluster.isolate(1)
    sending = asyncio.ensure_future(one.send("work", Outgoing("a")))
    await asyncio.sleep(0.05)
    await cluster.elect_all("work", 0, 2, in_sync=(2, 3), replicas=(2, 3))
    with pytest.raises(LeadershipLost):
        await sending


async def test_nobody_serves_a_queue_whose_journal_is_elsewhere(cluster: QueueCluster) -> None:
    """What was deleted would be there again."""
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", Outgoing("a"))
    (received,) = await one.receive("work", visibility_ms=HIDDEN_MS)
    await one.delete("work", received.receipt_handle)
    journal = ("__queue.work",)
    await cluster.elect_of(journal, 0, 1, in_sync=(1, 2), replicas=(1, 2))
    three = cluster.node(3)
    await eventually(lambda: ("__queue.work", 0) not in three.broker.routes)
    await cluster.elect_of(("work",), 0, 3, in_sync=(1, 2, 3))
    data = three.broker.partition("work", 0)
    await eventually(lambda: data.leader == 3)
    await asyncio.sleep(0.05)
    assert three.partition_of("work") is None
    await cluster.elect_of(("work",), 0, 1, in_sync=(1, 2, 3))
    await eventually(lambda: one.partition_of("work") is not None)
    assert await one.counts("work") == (0, 0, 0)


async def test_a_leader_that_comes_back_has_forgotten_what_was_not_confirmed(
    cluster: QueueCluster,
) -> None:
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", *(Outgoing(str(each)) for each in range(4)))
    taken = await one.receive("work", 2, visibility_ms=HIDDEN_MS)
    cluster.isolate(1)
    lost = asyncio.ensure_future(one.delete("work", *(each.receipt_handle for each in taken)))
    await asyncio.sleep(0.05)
    await cluster.elect_all("work", 0, 2, in_sync=(2, 3))
    with pytest.raises(LeadershipLost):
        await lost
    cluster.heal()
    two = cluster.node(2)
    await two.send("work", Outgoing("new"))
    assert await two.delete("work", taken[0].receipt_handle) == [None]
    journal = two.partition_of("work")
    assert journal is not None
    assert journal.journal is not None
    end = journal.journal.end_offset
    copies = one.broker.partition("__queue.work", 0), one.broker.partition("work", 0)
    await eventually(lambda: copies[0].log.end_offset == end and copies[1].log.end_offset == 5)
    await cluster.elect_all("work", 0, 1, in_sync=(1, 2, 3))
    await eventually(lambda: one.partition_of("work") is not None)
    assert await one.counts("work") == (3, 1, 0)
    assert await one.delete("work", taken[1].receipt_handle) == [None]


async def test_a_receipt_never_settles_a_delivery_that_came_later(cluster: QueueCluster) -> None:
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", Outgoing("a"))
    (stale,) = await one.receive("work", visibility_ms=1)
    cluster.clock.at_ms += 10
    after = cluster.node(await cluster.fail_over("work"))
    (newer,) = await after.receive("work", visibility_ms=HIDDEN_MS)
    assert newer.receive_count == 2
    assert await after.delete("work", stale.receipt_handle) == [None]
    assert await after.counts("work") == (0, 1, 0)
    assert await after.delete("work", newer.receipt_handle) == [None]
    assert await after.counts("work") == (0, 0, 0)


async def test_a_receipt_never_settles_another_message_at_the_same_offset(
    cluster: QueueCluster,
) -> None:
    """As after an unclean election, by which the message of the receipt was lost."""
    await make(cluster)
    one = cluster.node(1)
    await cluster.elect_all("work", 0, 1)
    await eventually(lambda: one.broker.partition("work", 0).leader_epoch == 1)
    await one.send("work", Outgoing("a"))
    (received,) = await one.receive("work", visibility_ms=HIDDEN_MS)
    partition = one.partition_of("work")
    assert partition is not None
    receipts = one.queues.local("work").state.receipts
    receipt = receipts.decode(received.receipt_handle)
    assert partition.data.log.epoch_at(0) == receipt.epoch
    earlier = receipts.encode(0, 0, 1, receipt.epoch - 1, receipt.received_ms)
    assert await one.delete("work", earlier) == [None]
    assert await one.counts("work") == (0, 1, 0)


async def test_a_leader_that_has_yet_to_hear_of_its_successor_takes_nothing_for_done(
    cluster: QueueCluster,
) -> None:
    """The successor has sent and handed out what this node does not know, or knows as older."""
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", Outgoing("a"))
    (received,) = await one.receive("work", visibility_ms=HIDDEN_MS)
    receipts = one.queues.local("work").state.receipts
    receipt = receipts.decode(received.receipt_handle)
    for offset in (0, 1):
        later = receipts.encode(0, offset, 2, receipt.epoch + 1, receipt.received_ms)
        (refusal,) = await one.delete("work", later)
        assert isinstance(refusal, NotLeader)
        (refusal,) = await one.hide("work", later, HIDDEN_MS)
        assert isinstance(refusal, NotLeader)


async def test_what_became_of_lost_messages_is_not_what_becomes_of_those_at_their_offsets(
    cluster: QueueCluster,
) -> None:
    """An unclean election: the journal survives, and the messages do not."""
    await make(cluster)
    one, two = cluster.node(1), cluster.node(2)
    await one.send("work", Outgoing("kept"))
    await one.receive("work", visibility_ms=0)
    await one.send("work", *(Outgoing(f"lost {each}") for each in range(4)))
    taken = await one.receive("work", 5, visibility_ms=HIDDEN_MS)
    await one.delete("work", *(each.receipt_handle for each in taken[:3]))
    for node in (two, cluster.node(3)):
        copy = node.broker.partition("__queue.work", 0)
        mine = one.broker.partition("__queue.work", 0)
        await eventually(lambda copy=copy, mine=mine: copy.log.end_offset == mine.log.end_offset)
    await cluster.kill(1)
    two.broker.partition("work", 0).log.truncate_to(1)
    await two.crash()
    await two.start()
    await cluster.elect_all("work", 0, 2, in_sync=(2,))
    await eventually(lambda: two.partition_of("work") is not None)
    await two.send("work", *(Outgoing(f"new {each}") for each in range(4)))
    assert (await two.counts("work"))[0] == 4
    await two.crash()
    await two.start()
    await cluster.elect_all("work", 0, 2, in_sync=(2,))
    await eventually(lambda: two.partition_of("work") is not None)
    found = bodies(await two.receive("work", 10))
    assert sorted(found) == [f"new {each}" for each in range(4)]


async def test_what_is_written_before_a_queue_is_open_is_not_taken_for_what_was_lost(
    cluster: QueueCluster,
) -> None:
    """An unclean election, and a Kafka producer that is quicker than the queue."""
    await make(cluster)
    one, two = cluster.node(1), cluster.node(2)
    await one.send("work", *(Outgoing(f"lost {each}") for each in range(3)))
    taken = await one.receive("work", 10, visibility_ms=HIDDEN_MS)
    await one.delete("work", *(each.receipt_handle for each in taken[:2]))
    mine, copy = (node.broker.partition("__queue.work", 0) for node in (one, two))
    await eventually(lambda: copy.log.end_offset == mine.log.end_offset)
    await cluster.kill(1)
    two.broker.partition("work", 0).log.truncate_to(0)
    await two.crash()
    await two.start()
    await cluster.elect_of(["work"], 0, 2, in_sync=(2,))
    data = two.broker.partition("work", 0)
    await eventually(lambda: data.is_leader)
    write(data, b"new 0", b"new 1", b"new 2")
    assert two.partition_of("work") is None
    await cluster.elect_of(["__queue.work"], 0, 2, in_sync=(2,))
    await eventually(lambda: two.partition_of("work") is not None)
    opened = two.partition_of("work")
    assert opened is not None
    assert opened.delivery.ready_count == 3


async def test_order_and_deduplication_survive(cluster: QueueCluster) -> None:
    await make(cluster, "work.fifo", FifoQueue="true")
    one = cluster.node(1)
    messages = [Outgoing(str(each), group_id="g", deduplication_id=str(each)) for each in range(6)]
    sent = await one.send("work.fifo", *messages)
    (first,) = await one.receive("work.fifo", 1, visibility_ms=HIDDEN_MS)
    await one.delete("work.fifo", first.receipt_handle)
    (second,) = await one.receive("work.fifo", 1, visibility_ms=HIDDEN_MS)
    after = cluster.node(await cluster.fail_over("work.fifo"))
    other = cluster.node(5 - after.id)
    assert await other.send("work.fifo", *messages) == sent
    # Its group is locked by what the leader before has given out.
    assert await other.receive("work.fifo", 10) == []
    assert await other.delete("work.fifo", second.receipt_handle) == [None]
    rest = await other.receive("work.fifo", 10)
    assert bodies(rest) == ["2", "3", "4", "5"]


async def test_a_long_poll_at_the_leader_before_ends_or_is_served(cluster: QueueCluster) -> None:
    await make(cluster)
    one = cluster.node(1)
    await one.receive("work")
    poll = asyncio.ensure_future(one.receive("work", wait_ms=10_000))
    await asyncio.sleep(0.05)
    await cluster.elect_all("work", 0, 2)
    async with asyncio.timeout(8):
        assert await poll == []
    poll = asyncio.ensure_future(one.receive("work", wait_ms=10_000))
    await cluster.node(3).send("work", Outgoing("a"))
    assert bodies(await poll) == ["a"]


async def test_leadership_that_goes_at_once_leaves_nothing_open(cluster: QueueCluster) -> None:
    await make(cluster)
    await cluster.node(1).send("work", *(Outgoing(str(each)) for each in range(5)))
    await cluster.node(1).receive("work", 2, visibility_ms=HIDDEN_MS)
    for leader in (2, 3, 1, 2, 3, 2, 1, 3):
        await cluster.elect_all("work", 0, leader)
    await eventually(lambda: cluster.node(3).partition_of("work") is not None)
    await eventually(
        lambda: all(cluster.node(each).partition_of("work") is None for each in (1, 2))
    )
    assert await cluster.node(1).counts("work") == (3, 2, 0)
    with pytest.raises(NotLeader):
        await (
            cluster.node(1)
            .queues.served("work", cluster.node(1).queues.local("work").entry.id.bytes)
            .receive(1, None, None, only_known=False)
        )


async def test_a_journal_is_made_beside_its_messages(cluster: QueueCluster) -> None:
    await cluster.node(1).broker.catalog.create_topic(
        "work", 3, {}, assignment={0: (1, 2), 1: (2, 3), 2: (3, 1)}
    )
    await cluster.node(1).create("work")
    await cluster.known("work")
    await cluster.node(1).send("work", Outgoing("a"))
    await cluster.node(1).receive("work")
    catalog = cluster.node(1).broker.catalog
    for index in range(3):
        states = [
            catalog.partition_state(catalog.get(topic), index) for topic in ("work", "__queue.work")
        ]
        assert states[0].replicas == states[1].replicas
        assert states[0].leader == states[1].leader


async def test_snapshots_reach_the_followers(
    cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "SNAPSHOT_AFTER_NS", 1)
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", *(Outgoing(str(each)) for each in range(5)))
    await one.receive("work", 2, visibility_ms=HIDDEN_MS)
    partition = one.partition_of("work")
    assert partition is not None
    one.queues._upkeep.save(partition)
    after = cluster.node(await cluster.fail_over("work"))
    await eventually(lambda: after.partition_of("work") is not None)
    opened = after.partition_of("work")
    assert opened is not None
    assert opened.journal is not None
    assert opened.journal.snapshot_offset >= 0
    assert await after.counts("work") == (3, 2, 0)


async def test_too_few_replicas_are_refused_at_once(cluster: QueueCluster) -> None:
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", Outgoing("a"))
    (received,) = await one.receive("work", visibility_ms=HIDDEN_MS)
    # Nobody comes back.
    cluster.isolate(1)
    await cluster.elect_all("work", 0, 1, in_sync=(1,))
    await eventually(lambda: one.broker.partition("work", 0).in_sync_count == 1)
    await eventually(lambda: one.broker.partition("__queue.work", 0).in_sync_count == 1)
    (sent,) = await one.send("work", Outgoing("b"))
    assert isinstance(sent, NotEnoughReplicas)
    with pytest.raises(NotEnoughReplicas):
        await one.delete("work", received.receipt_handle)
    assert await one.counts("work") == (0, 1, 0)


async def test_what_is_in_flight_ends_in_its_time_where_the_next_leaders_clock_is_behind(
    cluster: QueueCluster,
) -> None:
    await make(cluster)
    one = cluster.node(1)
    await one.send("work", Outgoing("a"))
    assert bodies(await one.receive("work", visibility_ms=30_000)) == ["a"]
    for node in cluster.living[1:]:
        node.queues.clock._began_ms -= 60_000
    after = cluster.node(await cluster.fail_over("work"))
    await eventually(lambda: after.partition_of("work") is not None)
    assert await after.receive("work") == []
    cluster.clock.at_ms += 31_000
    assert bodies(await after.receive("work")) == ["a"]


@pytest.mark.parametrize("is_received_before", [True, False])
async def test_messages_of_partitions_that_came_before_a_fail_over_are_received_after_it(
    cluster: QueueCluster, is_received_before: bool
) -> None:
    """Whether or not anybody had made a journal for them."""
    await make(cluster)
    one = cluster.node(1)
    await one.receive("work")
    await one.broker.catalog.create_partitions("work", 2, assignment={1: (2, 3, 1)})
    await cluster.known("work")
    partition = cluster.node(2).broker.partition("work", 1)
    await partition.until_committed(write(partition, b"there"))
    if is_received_before:
        await one.receive("work", visibility_ms=0)
    await cluster.kill(2)
    halves = ["work", "__queue.work"] if is_received_before else ["work"]
    await cluster.elect_of(halves, 1, 3, in_sync=(1, 3))
    await cluster.elect_all("work", 0, 1, in_sync=(1, 3))
    await eventually(lambda: cluster.node(3).partition_of("work", 1) is not None)
    assert len(await one.receive("work", wait_ms=2_000)) == 1
    assert one.broker.catalog.get("__queue.work").partitions == 2


@pytest.fixture
async def damaged(cluster: QueueCluster, monkeypatch: pytest.MonkeyPatch) -> QueueNode:
    """The leader of a queue with six messages, whose copy of the first is damaged."""
    monkeypatch.setattr(topics, "MESSAGE_SEGMENT_BYTES", 16_384)
    await make(cluster)
    one = cluster.node(1)
    for each in range(6):
        await one.send("work", Outgoing(str(each) * 6_000))
    one.disk.flip_bit(one.broker.partition("work", 0).log.segments[0].path, 100)
    return one


async def test_a_message_that_is_damaged_on_one_node_comes_from_another(
    cluster: QueueCluster, damaged: QueueNode
) -> None:
    with pytest.raises(StorageFailed):
        await damaged.receive("work", 1)
    await Housekeeping(damaged.broker).verify_doubted()
    await cluster.elect_all("work", 0, 2)
    two = cluster.node(2)
    await eventually(lambda: two.partition_of("work") is not None)
    assert bodies(await two.receive("work", 1)) == ["0" * 6_000]


async def test_a_queue_is_not_opened_where_what_others_have_is_damaged(
    cluster: QueueCluster, damaged: QueueNode
) -> None:
    await cluster.elect_all("work", 0, 2)
    await eventually(lambda: damaged.partition_of("work") is None)
    queue = damaged.queues.local("work")
    damaged.queues._serving._kept.forget(queue.entry.id.bytes)
    await cluster.elect_all("work", 0, 1)
    await eventually(lambda: damaged.broker.doubted)
    assert damaged.partition_of("work") is None


async def test_damage_that_nobody_finds_is_passed_over_in_the_end(
    cluster: QueueCluster, damaged: QueueNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doubts, "DOUBT_MS_MAX", 0)
    found = bodies(await damaged.receive("work", 10))
    assert found == [str(each) * 6_000 for each in range(1, 6)]
