"""Followers copy what their leader has, and nothing else."""

import asyncio

from tests.fakes.replicas import House, a_batch, eventually, write


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
