"""Which node answers for a partition, and what it does when that changes."""

import asyncio

import pytest
from tests.fakes.replicas import House, a_batch, eventually, write
from tests.unit.broker.workbench import Outcome

from duolog.broker.partition import Partition
from duolog.model.errors import NotLeader, UnknownTopicOrPartition
from duolog.ports.peers import Caller
from duolog.wire.peer.copying import CopyError, CopyRequest, CopyWanted

NOW_MS = 1_700_000_000_000


class Listener:
    def __init__(self) -> None:
        self.heard: list[tuple[str, int, int]] = []

    def leading(self, partition: Partition) -> None:
        self.heard.append(("leading", partition.index, partition.leader_epoch))

    def left(self, partition: Partition) -> None:
        self.heard.append(("left", partition.index, partition.leader_epoch))


async def test_listeners_hear_of_every_epoch_that_begins_here(house: House) -> None:
    await house.start(1, 2)
    listener = Listener()
    house[1].broker.leadership.append(listener)
    await house.create((1, 2))
    await house.elect(1)
    await house.elect(2)
    await eventually(lambda: not house[1].partition().is_leader)
    await house.elect(1)
    await house[1].broker.catalog.delete_topic("t")
    assert listener.heard == [
        ("leading", 0, 0),
        ("leading", 0, 1),
        ("left", 0, 2),
        ("leading", 0, 3),
        ("left", 0, 3),
    ]


async def test_a_change_of_the_set_alone_is_no_new_epoch(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    listener = Listener()
    house[1].broker.leadership.append(listener)
    house.cut.add((2, 1))  # or it would be back before anybody looked
    await house.change(in_sync=(1,))
    await eventually(lambda: house[1].partition().in_sync == (1,))
    assert listener.heard == []


async def test_rule_03_a_suspended_node_answers_for_nothing_that_it_leads(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    broker, partition = house[1].broker, house[1].partition()
    broker.suspend(NotLeader("the lease may be over"))
    assert not partition.is_leader
    with pytest.raises(NotLeader):
        broker.led_partition("t", 0)
    with pytest.raises(NotLeader):
        partition.append_alone(memoryview(a_batch()), NOW_MS)
    await house[2].broker.catalog.create_topic("late", 1, {}, assignment={0: (1, 2)})
    await eventually(lambda: ("late", 0) in broker.routes)
    assert not broker.partition("late", 0).is_leader
    broker.resume()
    async with asyncio.timeout(10):
        await partition.append(a_batch())
        await broker.partition("late", 0).append(a_batch())


async def test_acks_of_the_leader_alone_wait_for_its_own_disk_only(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    house.isolate(2)
    house[1].disk.is_held = True
    leader, outcome = house[1].partition(), Outcome()
    leader.wait_durable(write(leader), outcome)
    assert not outcome.settled
    house[1].disk.release()
    assert outcome.settled
    assert leader.high_watermark == 0


async def test_a_node_that_holds_no_copy_says_so(house: House) -> None:
    await house.start(1, 2)
    await house.create((1,))
    await eventually(lambda: "t" in house[2].broker.catalog.topics)
    with pytest.raises(NotLeader):
        house[2].broker.partition("t", 0)
    with pytest.raises(UnknownTopicOrPartition):
        house[2].broker.partition("t", 1)
    topic_id = house[2].broker.catalog.get("t").id.bytes
    assert isinstance(house[2].broker.unknown(topic_id, 0), NotLeader)


async def test_a_replica_is_added_and_another_taken_away(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create((1,))
    leader = house[1].partition()
    async with asyncio.timeout(10):
        await leader.append(a_batch(b"before"))
    await house.change(replicas=(1, 3), adding=(3,))
    await eventually(lambda: leader.in_sync == (1, 3))
    assert house[3].content() == house[1].content()
    async with asyncio.timeout(10):
        await leader.append(a_batch(b"after"))
    await house.change(
        replicas=(3,),
        in_sync=(3,),
        adding=(),
        leader=3,
        leader_epoch=1,
        broker_epoch=house.nodes.live[3].epoch,
    )
    await eventually(lambda: ("t", 0) not in house[1].broker.routes)
    assert not leader.is_leader
    await eventually(lambda: house[3].partition().is_leader)
    async with asyncio.timeout(10):
        assert await house[3].partition().append(a_batch()) == 2
    await eventually(lambda: "t-0" not in house[1].disk.list_names(""))


async def test_a_topic_is_deleted_while_it_is_copied(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    house.isolate(2)
    write(house[1].partition())
    await house[1].broker.catalog.delete_topic("t")
    house.heal()
    await eventually(lambda: ("t", 0) not in house[2].broker.routes)
    await house.create((1, 2))
    async with asyncio.timeout(10):
        assert await house[1].partition().append(a_batch()) == 0


async def test_a_namesake_is_not_copied(house: House) -> None:
    """The topic's id is named with every request, never its name alone."""
    await house.start(1, 2)
    await house.create((1, 2))
    old = house[1].broker.catalog.get("t").id.bytes
    await house[1].broker.catalog.delete_topic("t")
    await house.create((1, 2))
    write(house[1].partition())
    request = CopyRequest(0, 1, 0, 1 << 20, [CopyWanted(old, 0, 0, 0, -1)])
    caller = Caller(2, house.nodes.live[2].epoch)
    _, served = await house[1].replicator.copies.serve(caller, request)
    assert [each.result.error for each in served] == [CopyError.UNKNOWN_TOPIC]


async def test_who_is_no_replica_gets_nothing(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create((1, 2))
    topic_id = house[1].broker.catalog.get("t").id.bytes
    request = CopyRequest(0, 1, 0, 1 << 20, [CopyWanted(topic_id, 0, 0, 0, -1)])
    caller = Caller(3, house.nodes.live[3].epoch)
    _, served = await house[1].replicator.copies.serve(caller, request)
    assert [each.result.error for each in served] == [CopyError.NOT_A_REPLICA]


async def test_a_request_out_of_turn_begins_a_new_session(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    copies = house[1].replicator.copies
    caller = Caller(2, house.nodes.live[2].epoch)
    house.isolate(2)
    session, _ = await copies.serve(caller, CopyRequest(0, 1, 0, 1, []))
    assert await copies.serve(caller, CopyRequest(session, 3, 0, 1, [])) == (0, [])
    assert await copies.serve(caller, CopyRequest(session + 1, 2, 0, 1, [])) == (0, [])
    assert await copies.serve(caller, CopyRequest(session, 2, 0, 1, [])) == (session, [])


async def test_many_partitions_are_copied_by_one_loop(house: House) -> None:
    await house.start(1, 2)
    catalog = house[1].broker.catalog
    assignment = dict.fromkeys(range(20), (1, 2))
    await catalog.create_topic("t", 20, {"min.insync.replicas": "2"}, assignment=assignment)
    partitions = [house[1].partition("t", index) for index in range(20)]
    async with asyncio.timeout(10):
        for _ in range(3):
            await asyncio.gather(*(partition.append(a_batch()) for partition in partitions))
    for index in range(20):
        await eventually(lambda at=index: house[2].partition("t", at).high_watermark == 3)
        assert house[2].content("t", index) == house[1].content("t", index)
