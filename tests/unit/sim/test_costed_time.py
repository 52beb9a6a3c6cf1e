"""Work passes virtual time: for the process that does it, and for nobody else."""

import asyncio

import pytest

from duolog.sim.cpu import Cpu
from duolog.sim.host import Host
from duolog.sim.loop import ProcessLoop, new_loop
from duolog.sim.prices import STEP, THREAD
from duolog.sim.seed import Seed
from duolog.sim.world import NS_PER_MS, NS_PER_S, World

STEPS_PER_SECOND = NS_PER_S // STEP.call_ns


@pytest.fixture
def world():
    made = World(Seed(1))
    yield made
    made.close()


def a_process(world: World, name: str, host: Host | None = None) -> ProcessLoop:
    loop = new_loop(world, name)
    loop.cpu = Cpu(world, loop, host or Host())
    return loop


def run_all(world: World, *loops: ProcessLoop) -> None:
    async def main():
        await asyncio.sleep(60)

    world.run(main())


def test_a_callback_that_works_delays_only_those_of_its_own_process(world):
    busy, other = a_process(world, "busy"), a_process(world, "other")
    seen = []
    busy.call_soon(busy.cpu.work, STEPS_PER_SECOND)
    for loop in (busy, other):
        loop.call_later(0.5, lambda loop=loop: seen.append((loop.name, loop.time())))
    run_all(world)
    assert seen == [("other", 0.5), ("busy", 1.0)]


def test_a_callback_sees_the_time_that_its_own_work_took(world):
    loop = a_process(world, "busy")
    seen = []

    def work():
        seen.append(loop.time())
        loop.cpu.work(STEPS_PER_SECOND)
        seen.append(loop.time())
        loop.call_later(1, lambda: seen.append(loop.time()))

    loop.call_soon(work)
    run_all(world)
    assert seen == [0.0, 1.0, 2.0]


def test_what_became_due_meanwhile_runs_in_its_order(world):
    loop = a_process(world, "busy")
    seen = []
    loop.call_soon(loop.cpu.work, STEPS_PER_SECOND)
    loop.call_soon(seen.append, "first")
    loop.call_later(0.3, seen.append, "second")
    loop.call_later(0.6, seen.append, "third")
    run_all(world)
    assert seen == ["first", "second", "third"]


def test_time_never_goes_back_between_callbacks_of_a_process(world):
    loop = a_process(world, "busy")
    seen = []

    def work():
        seen.append(world.now_ns)
        loop.cpu.work(3)
        seen.append(world.now_ns)

    for _ in range(200):
        loop.call_soon(work)
    run_all(world)
    assert len(seen) == 400
    assert seen == sorted(seen)
    assert seen[-1] == 600 * STEP.call_ns


def test_a_busy_host_prolongs_work_and_not_its_cpu_time(world):
    loop = a_process(world, "busy", Host(busyness=10, weight=100))
    seen = []

    def work():
        loop.cpu.work(1)
        seen.append((world.now_ns, loop.cpu.spent_ns))

    loop.call_soon(work)
    run_all(world)
    assert seen == [(1_000 * STEP.call_ns, 100 * STEP.call_ns)]


def test_each_turn_is_told_with_its_cpu_time(world):
    loop = a_process(world, "busy", Host(busyness=4))
    turns: list[int] = []
    loop.cpu.on_turn = turns.append
    loop.call_soon(loop.cpu.work, 5)
    loop.call_soon(lambda: None)
    loop.call_soon(loop.cpu.work, 7)
    run_all(world)
    assert turns == [5 * STEP.call_ns, 7 * STEP.call_ns]


def test_who_looks_from_outside_pays_nothing(world):
    loop = a_process(world, "looked-at")

    async def main():
        loop.cpu.work(STEPS_PER_SECOND)

    world.run(main())
    assert world.now_ns == loop.cpu.spent_ns == 0


def test_a_second_thread_goes_on_beside_a_long_turn_and_waits_for_the_interpreter(world):
    loop = a_process(world, "busy")
    thread = new_loop(world, "thread")
    thread.cpu = Cpu(world, thread, Host(), beside=loop)
    seen = []

    def look():
        thread.cpu.pay(STEP)
        seen.append(world.now_ns)

    loop.call_soon(loop.cpu.work, STEPS_PER_SECOND)
    thread.call_later(0.5, look)
    thread.call_later(1.5, look)
    run_all(world)
    assert seen == [
        500 * NS_PER_MS + THREAD.call_ns + STEP.call_ns,
        1_500 * NS_PER_MS + STEP.call_ns,
    ]
