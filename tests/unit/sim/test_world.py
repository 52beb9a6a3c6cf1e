"""Virtual time: order, jumps, pauses and sudden ends."""

import asyncio

import pytest

from duolog.sim.loop import new_loop
from duolog.sim.seed import Seed
from duolog.sim.world import NS_PER_S, Deadlock, Livelock, World


@pytest.fixture
def world():
    made = World(Seed(1))
    yield made
    made.close()


def test_time_jumps_to_the_next_timer(world):
    async def main():
        await asyncio.sleep(3_000)
        return asyncio.get_running_loop().time()

    assert world.run(main()) == 3_000


def test_what_is_ready_runs_in_the_order_in_which_it_became_so(world):
    seen = []

    async def main():
        loop = asyncio.get_running_loop()
        loop.call_later(2, seen.append, "later")
        loop.call_later(1, seen.append, "sooner")
        loop.call_soon(seen.append, "first")
        loop.call_soon(seen.append, "second")
        await asyncio.sleep(2)

    world.run(main())
    assert seen == ["first", "second", "sooner", "later"]


def test_asyncio_works_as_ever(world):
    async def slow(result):
        await asyncio.sleep(result)
        return result

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.Event().wait()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(slow(n)) for n in range(3)]
        queue = asyncio.Queue()
        asyncio.get_running_loop().call_later(1, queue.put_nowait, "item")
        done = await asyncio.to_thread(lambda: "inline")
        return [task.result() for task in tasks], await queue.get(), done

    assert world.run(main()) == ([0, 1, 2], "item", "inline")


def test_waiting_for_nothing_is_a_deadlock(world):
    with pytest.raises(Deadlock):
        world.run(asyncio.Event().wait())


def test_callbacks_without_end_are_a_livelock(world):
    async def main():
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Livelock):
        world.run(main())


def test_a_paused_process_does_everything_when_it_goes_on(world):
    loop = new_loop(world, "paused")
    seen = []

    async def work():
        for _ in range(3):
            await asyncio.sleep(1)
            seen.append(loop.time())

    async def main():
        loop.create_task(work())
        await asyncio.sleep(1.5)
        loop.pause()
        await asyncio.sleep(10)
        assert seen == [1]
        loop.resume()
        await asyncio.sleep(10)

    world.run(main())
    assert seen == [1, 11.5, 12.5]


def test_a_dead_process_is_not_even_tidied_up(world):
    loop = new_loop(world, "dead")
    seen = []

    async def work():
        try:
            await asyncio.sleep(5)
        finally:
            seen.append("tidied")

    async def main():
        loop.create_task(work())
        await asyncio.sleep(1)
        loop.end()
        await asyncio.sleep(10)
        return list(seen)

    assert world.run(main()) == []


def test_processes_have_loops_of_their_own(world):
    one, other = new_loop(world, "one"), new_loop(world, "other")

    async def who():
        await asyncio.sleep(1)
        return asyncio.get_running_loop()

    async def main():
        tasks = [one.create_task(who()), other.create_task(who())]
        await asyncio.sleep(2)
        return [task.result() for task in tasks]

    assert world.run(main()) == [one, other]


def test_an_exception_that_nobody_handles_is_reported(world):
    async def main():
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(1)

    world.run(main())
    assert "ZeroDivisionError" in world.problems[0]


def test_a_timer_never_fires_early(world):
    async def main():
        for _ in range(1_000):
            due_ns = world.now_ns + 1_100_000
            await asyncio.sleep(0.0011)
            assert world.now_ns >= due_ns

    world.run(main())
    assert world.now_ns < 1.2 * NS_PER_S


def test_whoever_is_called_at_a_time_finds_that_it_has_come(world):
    async def main():
        loop = asyncio.get_running_loop()
        for number in range(1_000):
            when = loop.time() + number / 30_000
            called = loop.create_future()
            loop.call_at(when, called.set_result, None)
            await called
            assert loop.time() >= when

    world.run(main())
