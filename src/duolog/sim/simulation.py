"""One seed, from an empty cluster to the verdict."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import Protocol

from duolog.sim.cluster import Cluster
from duolog.sim.faults.lone import LoneFault, kinds_among
from duolog.sim.faults.schedule import Faults
from duolog.sim.hand_over import HAND_OVER, hand_over
from duolog.sim.haste import hastened
from duolog.sim.host import Host, draw_host
from duolog.sim.oracle.liveliness import LivelinessOracle
from duolog.sim.oracle.service import ServiceOracle
from duolog.sim.oracle.verdict import Verdict
from duolog.sim.planted.planting import planted
from duolog.sim.seed import Seed
from duolog.sim.watch import Watch
from duolog.sim.workloads.operating import OperatorLoad
from duolog.sim.workloads.queues import QueueLoad
from duolog.sim.workloads.topics import TopicLoad
from duolog.sim.world import NS_PER_MS, NS_PER_S, Deadlock, Livelock, World

LOAD_SECONDS = 60.0
RECOVERY_SECONDS_MAX = 120.0
"""Longest time that the loads may take to finish on the mended cluster."""
NODES = 3
HAND_OVER_SHARE = 0.25
"""Share of seeds that end with leadership that goes away and comes back."""
SERVED_SECONDS_MAX = 45.0
"""Longest time without a service after a fault that one node of an idle cluster may have.

Long for nodes that others cannot reach: of a partition that was moved a moment ago the leader stays
for half a minute. Clients wait some seconds for each answer that is lost.
"""
SERVED_SECONDS_MORE = 2.0
"""More of it for each time that the hosts are busier."""
LOADS = ("topics", "groups", "queues", "operator")


class Load(Protocol):
    async def prepare(self) -> None: ...

    def begin(self) -> None: ...

    async def finish(self) -> None: ...

    def waits_for(self) -> str:
        """The part of the load that is not done yet, for the failure report."""
        ...


@dataclass(frozen=True, slots=True)
class Options:
    nodes: int = NODES
    seconds: float = LOAD_SECONDS
    faults: tuple[str, ...] = ()
    """Kinds of faults that may happen; all, if none is named."""
    loads: tuple[str, ...] = LOADS
    planted: str | None = None
    """Name of the mistake that is planted in the product (planted/planting.py), if any."""


@dataclass(slots=True)
class Outcome:
    seed: int
    host: Host
    violations: list[str]
    problems: list[str]
    """Unhandled exceptions."""
    virtual_seconds: float = 0.0
    real_seconds: float = 0.0
    """CPU seconds, which equal the elapsed time on an idle machine."""
    faults: int = 0
    restarts: int = 0
    gaps_seconds: list[float] = field(default_factory=list)
    """Time without all services after mending, after one more fault, and after its end."""
    longest_turn_ms: int = 0
    acknowledged: int = 0
    """Acknowledged records of topics."""
    messages: int = 0
    """Acknowledged sends plus deletions of queue messages."""
    trace: int = 0
    """Digest of the run; equal for two runs in which the same happened."""
    story: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.violations and not self.problems


def simulate(number: int, options: Options) -> Outcome:
    began = time.process_time()
    world = World(Seed(number))
    simulation = Simulation(world, options)
    try:
        with hastened(), planted(options.planted):
            world.run(simulation.run(), seconds_max=options.seconds + 600)
    except (Deadlock, Livelock, TimeoutError, asyncio.CancelledError) as error:
        simulation.verdict.violated("progress", f"{type(error).__name__} {error}")
    outcome = simulation.outcome(number)
    world.close()
    outcome.real_seconds = time.process_time() - began
    return outcome


class Simulation:
    def __init__(self, world: World, options: Options) -> None:
        self._world = world
        self._options = options
        self.verdict = Verdict(lambda: world.now_ns)
        self.host = draw_host(world.seed.random("host"))
        self.cluster = Cluster(world, options.nodes, self.host)
        self.faults = Faults(self.cluster, world.seed.random("faults"), only=options.faults)
        self.service = ServiceOracle(self.verdict, lambda: world.now_ns)
        self.lively = LivelinessOracle(self.verdict, self.faults.wounds.was_hurt)
        self.cluster.on_turn = self.lively.turned
        self.cluster.store.on_expired.append(self.lively.lease_ended)
        is_drawn = world.seed.random("hand-over").random() < HAND_OVER_SHARE
        self._is_handed_over = options.nodes > 1 and (
            HAND_OVER in options.faults or (is_drawn and not options.faults)
        )
        self.topics = TopicLoad(
            self.cluster, self.verdict, self.service, with_group="groups" in options.loads
        )
        self.queues = QueueLoad(self.cluster, self.verdict, self.service)
        self._watch = Watch(self.cluster, self.verdict)
        with_queues = "queues" in options.loads
        self.operator = OperatorLoad(self.cluster, self.queues if with_queues else None)
        self._loads: list[Load] = [self.topics]
        if with_queues:
            self._loads.append(self.queues)
        if "operator" in options.loads and options.nodes > 1:
            # First in the list, so that it ends first: the others finish on a cluster that has all
            # its nodes.
            self._loads.insert(0, self.operator)

    async def run(self) -> None:
        for number in self.cluster.numbers:
            self.cluster.start(number)
        looking = asyncio.create_task(self._watch.run())
        for load in self._loads:
            await load.prepare()
        for load in self._loads:
            load.begin()
        await self.faults.run(self._options.seconds)
        if self._options.nodes > 1:
            await self._hurt_once()
        for load in self._loads:
            await self._finish(load)
        if self._is_handed_over:
            await hand_over(self.cluster, self._watch, self.verdict, self.faults)
        looking.cancel()
        await self._watch.finish(
            self.faults.scene.victim if self.faults.scene.has_flipped else None
        )

    async def _hurt_once(self) -> None:
        """Wait until the cluster is whole, then hurt one node."""
        seconds_max = SERVED_SECONDS_MAX + SERVED_SECONDS_MORE * self.host.busyness
        await self.service.until_served("mending", seconds_max)
        kinds = kinds_among(self._options.faults)
        if not kinds:
            return
        if self.operator in self._loads:
            self._loads.remove(self.operator)
            await self._finish(self.operator)
        await self._watch.until_in_sync()
        faults, random = self.faults, self._world.seed.random("lone fault")
        fault = LoneFault(self.cluster, random, faults.scene, faults.wounds, kinds)
        fault.begin()
        await self.service.until_served(fault.what, seconds_max)
        fault.end()
        await self.service.until_served(f"the end of {fault.what}", seconds_max)
        self.faults.log += fault.log

    async def _finish(self, load: Load) -> None:
        try:
            async with asyncio.timeout(RECOVERY_SECONDS_MAX):
                await load.finish()
        except TimeoutError:
            late = f"not done {RECOVERY_SECONDS_MAX:g} s after mending"
            self.verdict.violated("progress", f"{load.waits_for()} {late}")

    def outcome(self, number: int) -> Outcome:
        return Outcome(
            number,
            self.host,
            self.verdict.violations,
            self._world.problems,
            virtual_seconds=self._world.now_ns / NS_PER_S,
            faults=self.faults.count,
            restarts=self.cluster.restarts,
            gaps_seconds=self.service.gaps_seconds,
            longest_turn_ms=self.lively.longest_turn_ns // NS_PER_MS,
            acknowledged=self.topics.oracle.acknowledged_count,
            messages=self.queues.message_count,
            trace=self._world.trace,
            story=sorted(self.faults.log + self.operator.log),
        )
