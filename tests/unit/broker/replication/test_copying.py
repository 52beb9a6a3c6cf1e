"""Followers copy what their leader has, and nothing else."""

import asyncio
from itertools import count

import msgspec
import pytest
from tests.fakes.replicas import House, a_batch, eventually, write

from duolog.broker.admission import STEPS_UNSEEN, TURN_NS
from duolog.broker.replication import served_copies
from duolog.broker.replication.durability import all_durable
from duolog.model.errors import CorruptBatch, LeadershipLost
from duolog.model.partition_state import PartitionEntry
from duolog.ports.peers import Caller
from duolog.wire.peer.copying import NO_SESSION, CopyRequest, CopyWanted, decode_request


async def test_followers_copy_what_the_leader_writes(house: House) -> None:
    await house.start(1, 2, 3)
    await house.create()
    leader = house[1].partition()
    for number in range(5):
        async with asyncio.timeout(10):
            await leader.append(a_batch(b"%d" % number))
    assert leader.high_watermark == 5
    for follower in (house[2], house[3]):
        await eventually(lambda node=follower: node.partition().high_watermark == 5)
        assert follower.content() == house[1].content()
    write(leader, b"x")


async def test_a_replica_that_is_brought_in_is_filled_at_its_pace(house: House) -> None:
    await house.start(1, 2)
    await house[2].crash()
    house[2].given["replica.reassignment.bytes.per.second"] = "2000000"
    await house[2].start()
    await house.create((1,))
    leader = house[1].partition()
    for _ in range(6):
        await leader.append(a_batch(b"x" * 200_000))
    loop = asyncio.get_running_loop()
    began = loop.time()
    await house.change(replicas=(1, 2), adding=(2,))
    await eventually(lambda: leader.in_sync == (1, 2))
    assert loop.time() - began > 0.4
    assert house[2].content() == house[1].content()


async def test_a_replica_is_brought_in_while_its_leader_is_written_to(house: House) -> None:
    """Until it says how far it is, it gets no more, which would only be copied again."""
    await house.start(1, 2)
    await house[2].crash()
    house[2].given["replica.reassignment.bytes.per.second"] = "2000000"
    await house[2].start()
    await house.create((1,))
    leader = house[1].partition()
    for _ in range(6):
        await leader.append(a_batch(b"x" * 200_000))
    await house.change(replicas=(1, 2), adding=(2,))
    async with asyncio.timeout(10):
        while leader.in_sync != (1, 2):
            write(leader, b"y")
            await asyncio.sleep(0.002)
    await eventually(lambda: house[2].content() == house[1].content())


async def test_what_was_not_durable_and_differs_is_cut_before_the_rest_is_copied(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    leader, copy = house[1].partition(), house[2].partition()
    await leader.append(a_batch(b"shared"))
    await eventually(lambda: copy.log.end_offset == 1)
    house.isolate(1)
    write(leader, b"left behind")
    await house.elect(2)
    await eventually(lambda: copy.is_leader)
    for value in (b"new", b"newer"):
        write(copy, value)
    leader.follow(copy.entry)
    leader.append_copied(memoryview(house[2].content()), 0, 3)
    assert house[1].content() == house[2].content()
    assert leader.log.epochs.entries == copy.log.epochs.entries


async def test_a_follower_learns_soon_what_is_committed(house: House) -> None:
    """Not only with the next records, nor when the time is up."""
    await house.start(1, 2)
    await house[2].crash()
    house[2].given["replica.fetch.wait.max.ms"] = "60000"
    await house[2].start()
    await house.create((1, 2))
    await house[1].partition().append(a_batch())
    await eventually(lambda: house[2].partition().high_watermark == 1)


async def test_a_lost_answer_is_asked_for_again(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    lost = iter((True, True, False))
    house.answered = lambda source, target, answer: answer[:-1] if next(lost, False) else answer
    async with asyncio.timeout(10):
        await house[1].partition().append(a_batch())
    assert house[2].content() == house[1].content()


async def test_a_follower_learns_where_the_log_begins(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    for _ in range(3):
        await house[1].partition().append(a_batch())
    await eventually(lambda: house[2].partition().high_watermark == 3)
    house[1].partition().log.advance_start(2)
    await eventually(lambda: house[2].partition().log.start_offset == 2)


async def test_what_the_leader_has_not_compared_is_not_known_to_be_committed(
    house: House,
) -> None:
    """Records of an earlier leader, not durable yet, lie behind what this one has sent."""
    await house.start(1, 2)
    await house.create((1, 2))
    leader, copy = house[1].partition(), house[2].partition()
    house.isolate(2)
    for _ in range(3):
        write(leader)
    copy.append_copied(memoryview(house[1].content()), 0, 3)
    copy.adopt(3, 0, 3, compared_offset=1)
    assert copy.high_watermark == 1
    copy.adopt(3, 0, 3, compared_offset=3)
    assert copy.high_watermark == 3


async def test_fewer_required_in_sync_commit_what_waits(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="2")
    house.isolate(2)
    await house.change(in_sync=(1,))
    leader = house[1].partition()
    await eventually(lambda: leader.in_sync == (1,))
    appending = asyncio.create_task(leader.append(a_batch()))
    await asyncio.sleep(0.05)
    assert not appending.done()
    catalog = house[1].broker.catalog
    await catalog.edit_config("t", lambda given: {**given, "min.insync.replicas": "1"})
    async with asyncio.timeout(10):
        assert await appending == 0


async def test_an_answer_to_an_earlier_copy_leaves_no_hole(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    house.isolate(2)
    leader, copy = house[1].partition(), house[2].partition()
    write(leader, b"a")
    write(leader, b"b")
    second = house[1].content()[len(house[1].content()) // 2 :]
    with pytest.raises(CorruptBatch):
        copy.append_copied(memoryview(second), 1, 2)
    assert copy.log.end_offset == 0


async def test_an_answer_that_is_under_way_is_not_for_what_is_followed_anew(
    house: House,
) -> None:
    await house.start(1, 2)
    await house.create((1, 2))
    leader, copy = house[1].partition(), house[2].partition()
    await leader.append(a_batch(b"a"))
    copier, key = house[2].replicator._copiers[1], (copy.topic.id.bytes, 0)
    assert key in copier._named
    copier.forget(copy)
    assert key not in copier._named
    assert key in copier._forgotten
    copier.follow(copy)
    assert key not in copier._forgotten
    await leader.append(a_batch(b"b"))
    assert house[2].content() == house[1].content()


async def test_an_empty_copy_beyond_the_end_is_filled_from_the_start(house: House) -> None:
    await house.start(1, 2)
    await house.create((1, 2), min_insync_replicas="1")
    await house.change(in_sync=(1,))
    await house[1].partition().append(a_batch())
    await eventually(lambda: house[2].partition().log.end_offset == 1)
    house.isolate(2)
    await asyncio.sleep(0.05)
    house[2].partition().restart_at(500)
    house.heal()
    await eventually(lambda: house[2].content() == house[1].content())


async def test_who_waits_for_what_is_cut_is_told(house: House) -> None:
    """Else a loop that copies from another leader by now would wait for ever."""
    await house.start(1, 2)
    await house.create((1, 2))
    house[2].disk.is_held = True
    copy = house[2].partition()
    write(house[1].partition())
    await eventually(lambda: copy.log.end_offset == 1)
    waiting = asyncio.ensure_future(all_durable([(copy, copy.log.end_offset)]))
    await asyncio.sleep(0)
    house.isolate(2)
    copy.cut_to(0)
    with pytest.raises(LeadershipLost):
        await asyncio.wait_for(waiting, 10)
    house[2].disk.release()


async def test_a_follower_that_asks_before_the_leader_knows_that_it_leads_counts_from_then_on(
    house: House,
) -> None:
    """A long request rests, and the new role is taken meanwhile."""
    await house.start(1, 2)
    await house.create((1, 2))
    broker, leader = house[1].broker, house[1].partition()
    house.isolate(2)
    elected = PartitionEntry(
        msgspec.structs.replace(leader.entry.state, leader_epoch=leader.leader_epoch + 1),
        leader.entry.mod_revision + 1,
    )
    house.clock.thread_ns = count(0, TURN_NS).__next__
    wanted = [CopyWanted(leader.topic.id.bytes, 0, elected.state.leader_epoch, 0, -1)]
    wanted += [CopyWanted(bytes(16), index, 0, 0, -1) for index in range(STEPS_UNSEEN)]
    # The first rest comes before anything was noted.
    loop = asyncio.get_running_loop()
    loop.call_soon(loop.call_soon, broker.roles.take, leader, elected)
    caller = Caller(2, house.nodes.live[2].epoch)
    _, served = await house[1].replicator.copies.serve(
        caller, CopyRequest(NO_SESSION, 1, 0, 1 << 20, wanted)
    )
    assert leader.leader_epoch == elected.state.leader_epoch
    (told,) = (each.result for each in served if each.result.topic_id == wanted[0].topic_id)
    assert not told.error
    assert leader.leadership.end_offset_of(2) == 0


async def test_more_partitions_than_one_answer_looks_at_are_all_copied(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served_copies, "LOOKS_MAX", 2)
    await house.start(1, 2)
    names = [f"t{number}" for number in range(7)]
    for name in names:
        await house.create((1, 2), name)
    for name in names:
        write(house[1].partition(name))
    for name in names:
        copy = house[2].partition(name)
        await eventually(lambda copy=copy: copy.high_watermark == 1)


async def test_a_change_of_an_in_sync_set_does_not_interrupt_the_copying_of_all_others(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[int, int]] = []
    call = house.call

    async def counted(source: int, target: int, body: bytes) -> memoryview:
        if decode_request(memoryview(body)).session == NO_SESSION:
            begun.append((source, target))
        return await call(source, target, body)

    monkeypatch.setattr(house, "call", counted)
    await house.start(1, 2, 3)
    await house.create()
    await house.create(name="other")
    for each in (2, 3):
        await eventually(lambda node=each: house[node].partition("other").entry is not None)
    await house[1].partition("other").append(a_batch(b"x"))
    before = begun.count((2, 1))
    await house.change("other", in_sync=(1, 2))
    await eventually(lambda: house[2].partition("other").in_sync == (1, 2))
    house[1].replicator.in_sync.reconsider(house[1].partition("other"))
    await eventually(lambda: house[2].partition("other").in_sync == (1, 2, 3))
    await house[1].partition().append(a_batch(b"x"))
    await eventually(lambda: house[2].partition().high_watermark == 1)
    assert begun.count((2, 1)) == before
