"""What the simulator takes for service, for a lease lost in vain, and for a turn that is long."""

import asyncio

import pytest

from duolog.sim.faults.wounds import LATELY_NS, Wounds
from duolog.sim.oracle.liveliness import TURN_NS_MAX, LivelinessOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.oracle.verdict import Verdict
from duolog.sim.seed import Seed
from duolog.sim.world import World


@pytest.fixture
def world():
    made = World(Seed(1))
    yield made
    made.close()


@pytest.fixture
def verdict(world):
    return Verdict(lambda: world.now_ns)


@pytest.fixture
def service(world, verdict):
    return ServiceOracle(verdict, lambda: world.now_ns)


def test_what_nobody_answers_in_time_is_named(world, verdict, service):
    service.asked("produce")
    service.asked("receive")

    async def main():
        asyncio.get_running_loop().call_later(
            1, lambda: service.answered("produce", service.asked("produce"))
        )
        await service.until_served("the fault", 5.0)

    world.run(main())
    assert verdict.violations == ["  5.100000 service: no receive 5 s after the fault"]


def test_an_answer_to_what_was_asked_before_the_event_proves_nothing(world, verdict, service):
    async def main():
        asked_ns = service.asked("produce")
        await asyncio.sleep(1)
        asyncio.get_running_loop().call_later(1, service.answered, "produce", asked_ns)
        await service.until_served("the fault", 5.0)

    world.run(main())
    assert len(verdict.violations) == 1


def test_the_gap_ends_with_the_last_service(world, verdict, service):
    for each in ("produce", "receive"):
        service.asked(each)

    async def main():
        loop = asyncio.get_running_loop()
        for at, each in enumerate(("produce", "receive"), 1):
            loop.call_later(at, lambda each=each: service.answered(each, service.asked(each)))
        await service.until_served("the fault", 5.0)

    world.run(main())
    assert not verdict.violations
    assert service.gaps_seconds == [pytest.approx(2.0, abs=0.11)]


def test_only_a_node_that_was_not_hurt_must_keep_its_lease(verdict):
    hurt = {2}
    oracle = LivelinessOracle(verdict, hurt.__contains__)
    oracle.lease_ended(["brokers/2", "load/2"])
    assert not verdict.violations
    oracle.lease_ended(["brokers/1", "load/1", "controller/leader"])
    assert verdict.violations == ["  0.000000 leases last: node 1 lost its lease unhurt"]


def test_a_long_turn_is_told(verdict):
    oracle = LivelinessOracle(verdict, lambda node: False)
    oracle.turned(3, TURN_NS_MAX)
    assert not verdict.violations
    oracle.turned(3, TURN_NS_MAX + 1)
    assert len(verdict.violations) == 1


def test_a_node_counts_as_hurt_while_a_fault_lasts_and_a_while_longer():
    now_ns = 0
    wounds = Wounds(lambda: now_ns)
    assert not wounds.was_hurt(1)
    wounds.begin([1, 2])
    wounds.begin([1])
    wounds.end([1])
    now_ns += 2 * LATELY_NS
    assert wounds.was_hurt(1)
    wounds.end([1, 2])
    now_ns += LATELY_NS - 1
    assert wounds.was_hurt(1)
    now_ns += 1
    assert not wounds.was_hurt(1)
    assert not wounds.was_hurt(3)
