"""Schedule of faults: which kind befalls which node when, and for how long.

Faults of different nodes overlap, and so do those of one node.
"""

import asyncio
from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from duolog.sim.cluster import Cluster
from duolog.sim.faults import disks, links, processes, surroundings
from duolog.sim.faults.scene import Fault, Scene, Undo
from duolog.sim.faults.wounds import Wounds
from duolog.sim.world import NS_PER_S

KINDS: Mapping[str, Fault] = MappingProxyType(
    {**processes.KINDS, **links.KINDS, **disks.KINDS, **surroundings.KINDS}
)

EVERYWHERE = frozenset(("power-cut-of-all", "store-fail-over"))
"""Kinds that hurt all nodes."""
FIRST_SECONDS = 3.0
PAUSE_SECONDS = (0.5, 3.5)
DURATION_SECONDS = (0.2, 6.0)


class Faults:
    def __init__(self, cluster: Cluster, random: Random, *, only: tuple[str, ...] = ()) -> None:
        self._cluster = cluster
        self._random = random
        self.scene = Scene(cluster, random)
        self.log: list[str] = []
        """Every fault with its time, printed when a seed is replayed."""
        self.count = 0
        self.wounds = Wounds(lambda: cluster.world.now_ns)
        self._kinds = [kind for kind in KINDS if not only or kind in only]
        self._undone: dict[int, tuple[str, Undo, list[int]]] = {}

    async def run(self, seconds: float) -> None:
        """Cause faults for so many seconds, then mend everything."""
        world = self._cluster.world
        end_ns = world.now_ns + int(seconds * NS_PER_S)
        await asyncio.sleep(FIRST_SECONDS)
        while world.now_ns < end_ns:
            self._begin()
            await asyncio.sleep(self._random.uniform(*PAUSE_SECONDS))
        self.mend()

    def mend(self) -> None:
        self._note("all is mended")
        for key in list(self._undone):
            self._end(key)
        for number in self._cluster.numbers:
            self._cluster.machine(number).device.heal()
            self._cluster.start(number)

    def _begin(self) -> None:
        kind = self._random.choice(self._kinds)
        number = self._random.choice(self._cluster.numbers)
        if kind in disks.DESTROYING:
            number = self.scene.victim
        duration = self._random.uniform(*DURATION_SECONDS)
        self.count += 1
        self._note(f"{kind}, node {number}, for {duration:.3f} s")
        hurt = [*self._cluster.numbers] if kind in EVERYWHERE else [number]
        self.wounds.begin(hurt)
        undo = KINDS[kind](self.scene, number)
        self._undone[self.count] = (f"{kind}, node {number}", undo, hurt)
        self._cluster.world.after(int(duration * NS_PER_S), self._end, self.count)

    def _end(self, key: int) -> None:
        if key in self._undone:
            what, undo, hurt = self._undone.pop(key)
            self._note(f"end of {what}")
            undo()
            self.wounds.end(hurt)

    def _note(self, what: str) -> None:
        self.log.append(f"{self._cluster.world.now_ns / NS_PER_S:10.6f} {what}")
