"""The safety rules of replication. Each test fails when its rule is taken out."""

import asyncio

import pytest
from tests.fakes.replicas import House, a_batch, eventually, write

from duolog.broker.partition import Partition
from duolog.core.replica.truncation import Divergence
from duolog.model.errors import (
    FencedLeaderEpoch,
    LeadershipLost,
    NotEnoughReplicas,
    NotLeader,
    OutOfOrderSequence,
    StaleBrokerEpoch,
    StorageFailed,
    UnknownLeaderEpoch,
)
from duolog.ports.peers import Caller
from duolog.wire.peer.copying import CopyError, CopyRequest, CopyWanted

NOW_MS = 1_700_000_000_000


async def append(partition: Partition, *values: bytes) -> int:
    async with asyncio.timeout(10):
        return await partition.append(a_batch(*values))


def wanted(partition: Partition, **changes: object) -> CopyWanted:
    fields: dict[str, object] = {
        "topic_id": partition.topic.id.bytes,
        "index": 0,
        "leader_epoch": partition.leader_epoch,
        "offset": 0,
        "last_epoch": -1,
    }
    return CopyWanted(**(fields | changes))  # type: ignore[arg-type]


async def ask(house: House, leader: int, asked: CopyWanted, caller: Caller | None = None) -> int:
    """The error that a replica fetch is answered with."""
    caller = caller or Caller(3, house.nodes.live[3].epoch)
    request = CopyRequest(0, 1, 0, 1 << 20, [asked])
    _, served = await house[leader].replicator.copies.serve(caller, request)
    return served[0].result.error if served else CopyError.NONE


async def test_rule_02_a_stale_leader_epoch_is_refused_on_every_path(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    await house.elect(2)
    leader = house[2].partition()
    old = leader.leader_epoch - 1
    assert await ask(house, 2, wanted(leader, leader_epoch=old)) == CopyError.FENCED_EPOCH
    assert await ask(house, 2, wanted(leader, leader_epoch=old + 2)) == CopyError.UNKNOWN_EPOCH
    with pytest.raises(FencedLeaderEpoch):
        leader.check_epoch(old)
    with pytest.raises(UnknownLeaderEpoch):
        leader.check_epoch(old + 2)
    await eventually(lambda: not house[1].partition().is_leader)
    deposed = house[1].partition()
    assert await ask(house, 1, wanted(deposed)) == CopyError.NOT_LEADER
    with pytest.raises(NotLeader):
        deposed.stage(memoryview(a_batch()), NOW_MS)
    with pytest.raises(NotLeader):
        house[1].broker.led_partition("t", 0)


async def test_rule_02_records_of_a_later_epoch_than_the_leaders_are_not_appended(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    follower = house[2].partition()
    batch = a_batch()
    batch[12:16] = (7).to_bytes(4, "big")
    before = follower.log.end_offset
    with pytest.raises(Exception, match="epoch 7"):
        follower.append_copied(memoryview(batch), 0, 1)
    assert follower.log.end_offset == before


async def test_rule_04_what_an_earlier_run_of_a_node_asks_is_refused(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    stale = Caller(3, house.nodes.live[3].epoch)
    await house.register(3)
    with pytest.raises(StaleBrokerEpoch):
        await ask(house, 1, wanted(house[1].partition()), stale)


async def test_rule_05_an_unacknowledged_tail_is_cut_where_the_epochs_part(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    await append(house[1].partition(), b"kept")
    house.isolate(1)
    for _ in range(3):
        write(house[1].partition(), b"lost")
    await house.elect(2, in_sync=(2, 3))
    await append(house[2].partition(), b"new")
    assert house[1].partition().log.end_offset == 4
    house.heal()
    await eventually(lambda: house[1].partition().log.end_offset == 2)
    await eventually(lambda: house[1].content() == house[2].content())


async def test_rule_05_the_cut_is_where_the_epochs_part_whatever_is_known_to_be_committed(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    partition = house[1].partition()
    house.isolate(2)
    for _ in range(5):
        write(partition)
    assert partition.high_watermark == 0
    partition.cut(Divergence(0, 3))
    assert partition.log.end_offset == 3


async def test_rule_05_records_above_the_followers_watermark_survive_a_change_of_leader(
    house: House,
) -> None:
    """A follower that cut at its own high watermark would lose what was acknowledged."""
    await house.start(1, 2, 3)
    await house.create()
    for _ in range(3):
        await append(house[1].partition())
    second, third = house[2].partition(), house[3].partition()
    second.high_watermark = third.high_watermark = 1
    house.isolate(1)
    await house.elect(2, in_sync=(2, 3))
    await eventually(lambda: second.high_watermark == 3)
    assert second.log.end_offset == third.log.end_offset == 3


async def test_rule_05_an_epoch_without_records_hides_no_difference(house: House) -> None:
    """A leader that wrote nothing follows one whose log goes on with an earlier epoch."""
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    await append(house[1].partition(), b"both")
    house.isolate(2)
    write(house[1].partition(), b"one alone")
    await house.elect(2)
    await house.elect(1)
    house.heal()
    await eventually(lambda: house[2].content() == house[1].content())
    log = house[2].partition().log
    assert log.epochs.entries == [(0, 0)]
    assert log._cuts == 0


async def test_rule_06_the_watermark_waits_for_every_member_of_the_set(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    house.isolate(3)
    leader = house[1].partition()
    end_offset = write(leader)
    await eventually(lambda: house[2].partition().log.end_offset == end_offset)
    await asyncio.sleep(0.1)
    assert leader.high_watermark == 0
    house.heal()
    await eventually(lambda: leader.high_watermark == end_offset)


async def test_rule_06_a_proposed_member_counts_before_it_is_committed(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    await house.change(in_sync=(1, 2))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1, 2))
    assert leader.leadership is not None
    house.isolate(3)
    leader.leadership.propose((1, 2, 3))
    end_offset = write(leader)
    await eventually(lambda: house[2].partition().log.end_offset == end_offset)
    await asyncio.sleep(0.1)
    assert leader.high_watermark < end_offset
    leader.leadership.withdraw()
    leader.recount()
    assert leader.high_watermark == end_offset


async def test_rule_06_the_watermark_does_not_advance_below_min_insync(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    house.isolate(1)
    await house.change(in_sync=(1,))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1,))
    write(leader)
    assert leader.high_watermark == 0
    with pytest.raises(NotEnoughReplicas):
        leader.check_in_sync()
    house.heal()
    await eventually(lambda: leader.high_watermark == 1)


async def test_rule_08_acks_all_waits_for_the_followers_disk(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    disk = house[2].disk
    disk.is_held = True
    leader = house[1].partition()
    appending = asyncio.create_task(append(leader))
    await eventually(lambda: house[2].partition().log.end_offset == 1)
    await asyncio.sleep(0.1)
    assert not appending.done()
    assert leader.high_watermark == 0
    disk.release()
    assert await appending == 0


async def test_rule_08_what_is_copied_ahead_of_the_followers_disk_does_not_count(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    disk, leader, copy = house[2].disk, house[1].partition(), house[2].partition()
    disk.is_held = True
    for _ in range(4):
        write(leader, b"x" * 700_000)
    await eventually(lambda: copy.log.end_offset == 2)
    await asyncio.sleep(0.1)
    # One answer is being synced, the one after it has come, and there it waits for the disk.
    assert copy.log.end_offset == 2
    assert leader.high_watermark == 0
    disk.finish_sync()
    await eventually(lambda: leader.high_watermark == 1)
    disk.release()
    await eventually(lambda: leader.high_watermark == 4)
    assert house[2].content() == house[1].content()


async def test_rule_05_what_was_copied_ahead_is_cut_where_the_next_leader_has_other_records(
    house: House,
) -> None:
    await house.start(1, 2, 3)
    await house.create(min_insync_replicas="2")
    disk, leader, copy = house[2].disk, house[1].partition(), house[2].partition()
    disk.is_held = True
    house.isolate(3)
    for _ in range(3):
        write(leader, b"x" * 700_000)
    await eventually(lambda: copy.log.end_offset == 2)
    house.heal()
    house.isolate(1)
    await house.elect(3)
    await eventually(lambda: house[3].partition().is_leader)
    write(house[3].partition(), b"other")
    disk.release()
    await eventually(lambda: house[2].content() == house[3].content())


async def test_rule_08_acks_all_waits_for_the_leaders_own_disk(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    house[1].disk.is_held = True
    leader = house[1].partition()
    appending = asyncio.create_task(append(leader))
    await eventually(lambda: house[2].partition().log.durable_offset == 1)
    await asyncio.sleep(0.1)
    assert not appending.done()
    house[1].disk.release()
    assert await appending == 0


async def test_rule_09_a_follower_whose_sync_fails_reports_nothing_more(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    await append(house[1].partition())
    house[2].disk.fail("sync", path_part="t-0")
    write(house[1].partition())
    await eventually(lambda: house[2].failures)
    await asyncio.sleep(0.1)
    assert house[1].partition().high_watermark == 1
    with pytest.raises(StorageFailed):
        house[2].partition()._check_failure(NOW_MS)


@pytest.mark.parametrize("flipped", [0x01, 0x80])
@pytest.mark.parametrize("place", ["offset", "length", "epoch", "checksum", "value"])
async def test_rule_10_a_damaged_batch_is_not_copied(
    house: House, place: str, flipped: int
) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    at_in_batch = {"offset": 0, "length": 11, "epoch": 12, "checksum": 20, "value": 70}[place]

    def flip(source: int, target: int, answer: bytes) -> bytes:
        if b"hello" not in answer:
            return answer
        damaged = bytearray(answer)
        damaged[len(answer) - len(a_batch(b"hello")) + at_in_batch] ^= flipped
        return bytes(damaged)

    house.answered = flip
    leader = house[1].partition()
    write(leader, b"hello")
    await asyncio.sleep(0.15)
    assert house[2].partition().log.end_offset == 0
    assert leader.high_watermark == 0
    house.answered = lambda source, target, answer: answer
    await eventually(lambda: leader.high_watermark == 1)


async def test_rule_11_readers_of_a_follower_never_pass_its_watermark(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    house.isolate(3)
    write(house[1].partition())
    follower = house[2].partition()
    await eventually(lambda: follower.log.end_offset == 1)
    assert follower.read(0, 1 << 20) is None
    house.heal()
    await eventually(lambda: follower.high_watermark == 1)
    assert follower.read(0, 1 << 20) is not None


async def test_rule_11_a_new_leader_knows_what_is_committed_before_it_says_so(
    house: House,
) -> None:
    await house.start(1, 2, 3)
    await house.create()
    await append(house[1].partition())
    house.isolate(1)
    house.isolate(3)
    house[2].partition().high_watermark = 0
    await house.elect(2, in_sync=(2, 3))
    assert not house[2].partition().is_current
    house.heal()
    await eventually(lambda: house[2].partition().is_current)
    assert house[2].partition().high_watermark == 1


async def test_rule_13_sequences_survive_a_change_of_leader(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    async with asyncio.timeout(10):
        await house[1].partition().append(a_batch(producer_id=5, sequence=0))
        await house[1].partition().append(a_batch(producer_id=5, sequence=1))
        await house.elect(2)
        leader = house[2].partition()
        assert await leader.append(a_batch(producer_id=5, sequence=1)) == 1
        assert leader.log.end_offset == 2
        with pytest.raises(OutOfOrderSequence):
            await leader.append(a_batch(producer_id=5, sequence=7))


async def test_rule_13_sequences_of_what_was_cut_are_forgotten(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    await append(house[1].partition())
    house.isolate(1)
    now_ms = NOW_MS
    batch = a_batch(producer_id=5, sequence=0)
    house[1].partition().append_alone(memoryview(batch), now_ms)
    await house.elect(2, in_sync=(2, 3))
    await append(house[2].partition())
    house.heal()
    await eventually(lambda: house[1].content() == house[2].content())
    await house.elect(1, in_sync=(1, 2, 3))
    async with asyncio.timeout(10):
        assert await house[1].partition().append(a_batch(producer_id=5, sequence=0)) == 2


async def test_rule_14_who_waits_when_leadership_goes_is_not_told_that_it_failed(
    house: House,
) -> None:
    await house.start(1, 2, 3)
    await house.create()
    house.isolate(3)
    appending = asyncio.create_task(append(house[1].partition()))
    await asyncio.sleep(0.05)
    await house.elect(2)
    with pytest.raises(LeadershipLost):
        await appending
