"""Followers without room on their disks, and what their leaders do."""

import asyncio

import pytest
from tests.fakes import replicas
from tests.fakes.replicas import House, a_batch, eventually

from duolog.broker.partition import Partition
from duolog.model.errors import DiskFull


async def append(partition: Partition) -> int:
    async with asyncio.timeout(10):
        return await partition.append(a_batch())


def refuses(partition: Partition) -> bool:
    return isinstance(partition._failure, DiskFull)


async def test_a_leader_refuses_messages_while_a_full_member_cannot_leave(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    leader = house[1].partition()
    await append(leader)
    house[2].condition.set_full(True)
    await eventually(lambda: refuses(leader))
    with pytest.raises(DiskFull, match="node 2 is full"):
        await append(leader)
    assert leader.in_sync == (1, 2)
    house[2].condition.set_full(False)
    await eventually(lambda: not refuses(leader))
    await append(leader)


async def test_a_leader_hears_of_a_full_disk_without_waiting_for_the_next_fetch(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "WAIT_MS", 60_000)
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    await append(house[1].partition())
    await eventually(lambda: house[2].partition().high_watermark == 1)
    session = house[1].replicator.copies._sessions[2]
    await eventually(lambda: session.is_parked and not session.stirred)
    house[2].condition.set_full(True)
    await eventually(lambda: refuses(house[1].partition()))


async def test_a_journal_is_written_on_while_messages_are_refused(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    await house.create((1, 2), name="__queue.t", min_insync_replicas="2")
    leader, journal = house[1].partition(), house[1].partition("__queue.t")
    house[2].condition.set_full(True)
    await eventually(lambda: refuses(leader))
    await append(journal)


async def test_a_leader_takes_messages_where_the_full_member_can_leave(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    leader = house[1].partition()
    house[3].condition.set_full(True)
    await eventually(lambda: 3 in house[1].replicator.room.full)
    await append(leader)


async def test_messages_are_taken_again_once_the_set_is_large_enough(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    leader = house[1].partition()
    house.isolate(3)
    await house.change(in_sync=(1, 2))
    house[2].condition.set_full(True)
    await eventually(lambda: refuses(leader))
    house.heal()
    await eventually(lambda: leader.in_sync == (1, 2, 3))
    await eventually(lambda: not refuses(leader))


async def test_a_full_replica_that_was_taken_out_stays_out_until_it_has_room(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    leader = house[1].partition()
    house[3].condition.set_full(True)
    await eventually(lambda: 3 in house[1].replicator.room.full)
    await house.change(in_sync=(1, 2))
    await eventually(lambda: leader.in_sync == (1, 2))
    await append(leader)
    await eventually(lambda: house[3].partition().end_offset == 1)
    house[1].replicator.in_sync.reconsider(leader)
    await asyncio.sleep(0.1)
    assert leader.in_sync == (1, 2)
    house[3].condition.set_full(False)
    await eventually(lambda: leader.in_sync == (1, 2, 3))
