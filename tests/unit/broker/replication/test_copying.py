"""Followers copy what their leader has, and nothing else."""

import asyncio

import pytest
from tests.fakes.replicas import House, a_batch, eventually, write

from duolog.broker.replication.copier import all_durable
from duolog.model.errors import CorruptBatch, LeadershipLost


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
