"""Elected copies that must not lead, and what becomes of the partition."""

import asyncio
import errno

import pytest
from tests.fakes.replicas import House, a_batch, eventually

from duolog.broker.controller.event_log import read_events
from duolog.broker.partition import Partition
from duolog.core.controller.events import Event
from duolog.model.partition_state import NO_LEADER, PartitionState


async def append(partition: Partition, *values: bytes) -> int:
    async with asyncio.timeout(10):
        return await partition.append(a_batch(*values))


async def with_emptied_copy(house: House, **overrides: str) -> None:
    """Nodes 1 and 2 hold a record; node 2 has lost its copy, and cannot reach node 1."""
    await house.start(1, 2)
    await house.create((1, 2), **overrides)
    await append(house[1].partition())
    await eventually(lambda: house[2].partition().high_watermark == 1)
    await house[2].broker.storage.write_points(house[2].broker.partitions())
    await house[2].crash()
    house[2].disk.remove_tree("t-0")
    house[2].disk.sync_names("")
    house.isolate(2)
    await house[2].start()


async def elect(house: House, node: int, epoch: int, **fields: object) -> None:
    """As `House.elect`, for one that is expected to refuse."""
    broker_epoch = house.nodes.live[node].epoch
    await house.change(leader=node, leader_epoch=epoch, broker_epoch=broker_epoch, **fields)


async def resigned(house: House, node: int = 2) -> PartitionState:
    await eventually(lambda: house[node].partition().leader == NO_LEADER)
    return await house.state()


async def test_the_last_in_sync_copy_resigns_if_its_records_are_missing(house: House) -> None:
    await with_emptied_copy(house)
    await elect(house, 2, 1, in_sync=(2,))
    state = await resigned(house)
    assert (state.leader_epoch, state.in_sync, state.incomplete) == (2, (), (2,))
    events: list[Event] = []
    async with asyncio.timeout(10):
        while not events:
            events = await read_events(house.store)
            await asyncio.sleep(0.01)
    assert [event.kind for event in events] == ["leader resigned"]
    assert "records are missing on its disk" in events[0].text


async def test_a_resigned_copy_is_named_until_it_is_in_sync_again(house: House) -> None:
    await with_emptied_copy(house, min_insync_replicas="1")
    await elect(house, 2, 1)
    assert (await resigned(house)).incomplete == (2,)
    house.heal()
    await house.elect(1)
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    assert (await house.state()).incomplete == ()


async def test_a_copy_that_is_elected_uncleanly_leads_with_what_it_has(house: House) -> None:
    await with_emptied_copy(house, min_insync_replicas="1")
    await elect(house, 2, 1, in_sync=(2,), unclean_epoch=1)
    await eventually(lambda: house[2].partition().is_leader)
    await append(house[2].partition(), b"new")
    await house.elect(2)
    await append(house[2].partition(), b"and so on, in clean elections, too")


async def test_a_copy_whose_log_has_reached_the_epoch_resigns_and_nobody_is_trusted(
    house: House,
) -> None:
    """The store was restored from a time before epochs 1 and 2."""
    await house.start(1, 2)
    await house.create((1, 2))
    await house.elect(2)
    await append(house[2].partition())
    await house.elect(1)
    await append(house[1].partition())
    first = house[1].partition()
    await house.change(leader=NO_LEADER, leader_epoch=0, broker_epoch=0)
    await eventually(lambda: first.leader == NO_LEADER)
    await elect(house, 1, 1)
    await eventually(lambda: first.leader == NO_LEADER and first.leader_epoch > 1)
    state = await house.state()
    assert (state.leader_epoch, state.in_sync, state.incomplete) == (3, (), (1, 2))
    assert first.end_offset == house[2].partition().end_offset == 2, "nothing was cut"


async def test_the_only_replica_goes_on_above_the_epoch_that_its_log_has_reached(
    house: House,
) -> None:
    await house.start(1)
    await house.create((1,))
    await house.elect(1)
    await house.elect(1)
    await append(house[1].partition())
    await house.change(leader=NO_LEADER, leader_epoch=0, broker_epoch=0)
    await eventually(lambda: house[1].partition().leader == NO_LEADER)
    await elect(house, 1, 1)
    await eventually(lambda: house[1].partition().leader_epoch == 3)
    assert (await house.state()).in_sync == (1,)
    await house.elect(1)
    await append(house[1].partition())


@pytest.mark.parametrize("is_elected", [True, False])
async def test_a_full_disk_ends_no_node_that_takes_or_gives_up_the_lead(
    house: House, is_elected: bool
) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    await append(house[1].partition())
    for node in (1, 2):
        for partition in house[node].broker.partitions():
            partition.log.checkpoint()
    if not is_elected:
        await house.elect(1)
    node = house[2] if is_elected else house[1]
    node.disk.fail("write", errno.ENOSPC, path_part="leader-epochs")
    await house.elect(2)
    await eventually(lambda: node.broker.reserve.is_full)
    await node.broker.reserve.look()
    await append(house[2].partition())
    await eventually(lambda: house[1].partition().end_offset == 2)
    assert not node.failures
    assert house[1].content() == house[2].content()
