"""Nodes that stop, lose what they had, or find damage."""

import asyncio

import pytest
from tests.fakes.replicas import House, a_batch, eventually, write

from duolog.broker.housekeeping import Housekeeping
from duolog.broker.partition import Partition
from duolog.broker.storage import DataMissing
from duolog.model.errors import NotLeader
from duolog.model.partition_state import NO_LEADER


async def append(partition: Partition, *values: bytes) -> int:
    async with asyncio.timeout(10):
        return await partition.append(a_batch(*values))


async def test_a_follower_goes_on_after_a_restart(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    await append(house[1].partition(), b"a")
    await house[2].crash()
    await house.change(in_sync=(1,))
    await eventually(lambda: house[1].partition().in_sync == (1,))
    await append(house[1].partition(), b"b")
    await house[2].start()
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    assert house[2].content() == house[1].content()


async def test_an_emptied_follower_is_copied_again_from_the_leaders_start(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    for _ in range(5):
        await append(house[1].partition())
    house[1].partition().log.advance_start(3)
    await house[2].crash()
    await house.change(in_sync=(1,))
    house[2].disk.remove_tree("t-0")
    house[2].disk.sync_names("")
    await house[2].start()
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    copy = house[2].partition()
    assert (copy.log.start_offset, copy.log.end_offset) == (3, 5)
    assert house[2].content() == house[1].content()


async def test_a_log_that_begins_inside_a_batch_is_copied(house: House) -> None:
    await house.start(1, 2)
    await house.create((1,))
    await append(house[1].partition(), b"a", b"b", b"c", b"d")
    await append(house[1].partition(), b"e")
    house[1].partition().log.advance_start(2)
    await house.change(replicas=(1, 2), adding=(2,))
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    copy = house[2].partition()
    assert (copy.log.start_offset, copy.log.end_offset) == (2, 5)
    assert house[2].content() == house[1].content()


async def test_rule_04_a_copy_whose_records_are_missing_does_not_lead(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    await append(house[1].partition())
    await eventually(lambda: house[2].partition().high_watermark == 1)
    await house[2].broker.storage.write_points(house[2].broker.partitions())
    await house[2].crash()
    house[2].disk.remove_tree("t-0")
    house[2].disk.sync_names("")
    house.isolate(2)
    await house[2].start()
    assert house[2].partition().is_incomplete
    epoch = house.nodes.live[2].epoch
    await house.change(leader=2, leader_epoch=1, broker_epoch=epoch, in_sync=(2, 1))
    await eventually(lambda: house[2].partition().leader_epoch == 2)
    state = await house.state()
    assert (state.leader, state.leader_epoch, state.in_sync) == (NO_LEADER, 2, (1,))
    house.heal()
    await house.elect(1)
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    await eventually(lambda: not house[2].partition().is_incomplete)


async def test_rule_04_such_a_copy_leaves_the_lead_to_those_that_are_eligible(
    house: House,
) -> None:
    """As the first to come back it was elected alone, and has acknowledged nothing since."""
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    await append(house[1].partition())
    await house[1].broker.storage.write_points(house[1].broker.partitions())
    await house[1].crash()
    house.isolate(2)
    house[1].disk.remove_tree("t-0")
    house[1].disk.sync_names("")
    await house[1].start()
    epoch = house.nodes.live[1].epoch
    await house.change(leader=1, leader_epoch=1, broker_epoch=epoch, in_sync=(1,), eligible=(2,))
    await eventually(lambda: house[1].partition().leader == NO_LEADER)
    state = await house.state()
    assert (state.leader, state.in_sync, state.eligible) == (NO_LEADER, (), (2,))


async def test_missing_records_of_the_only_replica_are_fatal(house: House) -> None:
    await house.start(1)
    await house.create((1,))
    await append(house[1].partition())
    await house[1].broker.storage.write_points(house[1].broker.partitions())
    await house[1].crash()
    house[1].disk.remove_tree("t-0")
    house[1].disk.sync_names("")
    with pytest.raises(DataMissing):
        await house[1].start()


async def test_a_leader_that_was_started_again_waits_to_be_elected(house: House) -> None:
    """What it had not synced may have been copied: the same epoch must not go on."""
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1", durability="replicated")
    await append(house[1].partition(), b"a")
    await eventually(lambda: house[2].partition().log.end_offset == 1)
    house.isolate(2)
    await house[1].crash()
    await house[1].start()
    with pytest.raises(NotLeader):
        house[1].broker.led_partition("t", 0)
    await house.elect(1, in_sync=(1,))
    write(house[1].partition(), b"b")
    house.heal()
    await eventually(lambda: house[2].content() == house[1].content() != b"")


async def test_the_watermark_is_remembered_where_too_few_are_left_to_count(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    await append(house[1].partition())
    await Housekeeping(house[1].broker).checkpoint()
    await house[1].crash()
    await house[2].crash()
    await house[1].start()
    await house.elect(1, in_sync=(1,))
    assert house[1].partition().high_watermark == 1


async def test_rule_10_damage_on_a_follower_is_copied_again(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2", segment_bytes="16384")
    leader = house[1].partition()
    for _ in range(6):
        await append(leader, b"x" * 6_000)
    follower = house[2].partition()
    await eventually(lambda: follower.high_watermark == 6)
    segment = follower.log.segments[0]
    house[2].disk.flip_bit(segment.path, 100)
    await Housekeeping(house[2].broker).scrub_segment(follower, segment)
    assert follower.log.damaged
    await eventually(lambda: not follower.log.damaged)
    await eventually(lambda: leader.in_sync == (1, 2))
    await eventually(lambda: house[2].content() == house[1].content())
    assert leader.high_watermark == 6


async def test_rule_10_a_damaged_copy_leaves_the_set_before_it_is_cut(house: House) -> None:
    """What is intact behind the damage may be needed as long as it counts as in sync."""
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1", segment_bytes="16384")
    for _ in range(6):
        await append(house[1].partition(), b"x" * 6_000)
    follower = house[2].partition()
    await eventually(lambda: follower.high_watermark == 6)
    house.isolate(2)
    segment = follower.log.segments[0]
    house[2].disk.flip_bit(segment.path, 100)
    await Housekeeping(house[2].broker).scrub_segment(follower, segment)
    await asyncio.sleep(0.1)
    assert follower.log.end_offset == 6


async def test_rule_10_an_eligible_copy_with_damage_is_cut_once_it_is_not_eligible(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2", segment_bytes="16384")
    for _ in range(6):
        await append(house[1].partition(), b"x" * 6_000)
    follower = house[2].partition()
    await eventually(lambda: follower.high_watermark == 6)
    house.isolate(2)
    await house.elect(1, in_sync=(1,), eligible=(2,))
    await eventually(lambda: follower.in_sync == (1,))
    segment = follower.log.segments[0]
    house[2].disk.flip_bit(segment.path, 100)
    await Housekeeping(house[2].broker).scrub_segment(follower, segment)
    await asyncio.sleep(0.1)
    assert follower.log.end_offset == 6
    house.heal()
    await eventually(lambda: house[1].partition().in_sync == (1, 2))
    assert not follower.log.damaged
    assert not follower.is_incomplete
    assert house[2].content() == house[1].content()


async def test_a_copy_that_is_cut_below_what_is_committed_does_not_lead(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    await append(house[1].partition())
    follower = house[2].partition()
    await eventually(lambda: follower.high_watermark == 1)
    house.isolate(2)
    follower.cut_to(0)
    assert follower.is_incomplete


async def test_what_recovery_found_is_durable_before_the_node_is_started(house: House) -> None:
    await house.start(1)
    await house.create((1,))
    await append(house[1].partition())
    await house[1].crash()
    house[1].disk.is_held = True
    starting = asyncio.create_task(house[1].start())
    await eventually(lambda: not house[1].disk.is_settled)
    await asyncio.sleep(0.05)
    assert not starting.done()
    house[1].disk.release()
    async with asyncio.timeout(10):
        await starting


async def test_a_node_whose_disk_fails_at_the_start_does_not_start(house: House) -> None:
    await house.start(1)
    await house.create((1,))
    await append(house[1].partition())
    await house[1].crash()
    house[1].disk.fail("sync", path_part=".log")
    with pytest.raises(OSError, match="t-0"):
        await house[1].start()


async def test_rule_10_a_follower_that_is_sent_damage_has_the_leader_look(house: House) -> None:
    await house.start(1, 2)
    await house.create((1,), segment_bytes="16384")
    leader = house[1].partition()
    for _ in range(6):
        await leader.append(a_batch(b"x" * 6_000))
    segment = leader.log.segments[0]
    house[1].disk.flip_bit(segment.path, 100)
    await house.change(replicas=(1, 2), adding=(2,))
    await eventually(lambda: house[1].broker.doubted)
    await Housekeeping(house[1].broker).verify_doubted()
    assert [each.first_offset for each in leader.log.damaged] == [0]
    assert house[2].partition().log.end_offset == 0


async def test_rule_10_a_damaged_leader_leaves_the_lead_to_another(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), segment_bytes="16384")
    leader = house[1].partition()
    for _ in range(6):
        await append(leader, b"x" * 6_000)
    segment = leader.log.segments[0]
    house[1].disk.flip_bit(segment.path, 100)
    await Housekeeping(house[1].broker).scrub_segment(leader, segment)
    assert not leader.is_leader
    await eventually(lambda: leader.leader == NO_LEADER)
    assert (await house.state()).in_sync == (2,)
    await house.elect(2)
    await eventually(lambda: house[2].partition().in_sync == (1, 2))
    assert not leader.log.damaged
    assert house[1].content() == house[2].content()


async def test_a_copy_follows_over_what_was_thinned_or_compacted(house: House) -> None:
    await house.start(1, 2)
    await house.create(
        (1, 2),
        min_insync_replicas="1",
        cleanup_policy="compact",
        segment_bytes="16384",
        min_cleanable_dirty_ratio="0",
    )
    await house[2].crash()
    await house.change(in_sync=(1,))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1,))
    for _ in range(6):
        await append(leader, b"x" * 6_000)
    await Housekeeping(house[1].broker).compact()
    offsets = house[1].offsets()
    assert len(offsets) < 6
    await house[2].start()
    await eventually(lambda: leader.in_sync == (1, 2))
    assert house[2].offsets() == offsets
    await append(leader, b"more")
    await eventually(lambda: house[2].partition().log.end_offset == 7)
    await house[2].broker.storage.write_points(house[2].broker.partitions())
    await house[2].crash()
    await house[2].start()
    assert not house[2].partition().log.damaged
    assert house[2].offsets() == [*offsets, 6]


async def test_rule_04_a_node_that_registers_anew_leads_only_what_it_is_elected_for_again(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    partition = house[1].partition()
    assert partition.is_leader
    house[1].broker.registered(await house.register(1))
    assert not partition.is_leader
    await house.elect(1)
    assert partition.is_leader


async def test_what_was_cut_off_by_epoch_is_not_missed_after_a_crash(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    await append(house[1].partition(), b"a")
    await eventually(lambda: house[2].partition().high_watermark == 1)
    house.isolate(1)
    write(house[1].partition(), b"unacknowledged")
    await house[1].broker.flusher.drain()
    await house[1].broker.storage.write_points(house[1].broker.partitions())
    await house.elect(2, in_sync=(2,))
    house.heal()
    await eventually(lambda: house[1].partition().log.end_offset == 1)
    await house[1].crash()
    await house[1].start()
    assert house[1].partition().log.end_offset == 1
    assert not house[1].partition().is_incomplete
