"""The cluster that faults act on, and operations that several kinds of faults share."""

from collections.abc import Callable
from random import Random

from duolog.sim.cluster import Cluster

Undo = Callable[[], None]


class Scene:
    def __init__(self, cluster: Cluster, random: Random) -> None:
        self.cluster = cluster
        self.random = random
        self.victim = random.choice(cluster.numbers)
        """The one node whose disk may lose what it had."""
        self.has_flipped = False
        """True if a bit was flipped on the victim's disk, so that its copies may differ."""

    def name(self, number: int) -> str:
        return self.cluster.machine(number).name

    def others(self, number: int) -> list[str]:
        mine = self.name(number)
        return [name for name in self.cluster.names if name != mine]

    def cut(self, pairs: list[tuple[str, str]]) -> Undo:
        links = self.cluster.links
        for pair in pairs:
            links.cut(*pair)

        def heal() -> None:
            for pair in pairs:
                links.heal(*pair)

        return heal


Fault = Callable[[Scene, int], Undo]
"""Makes a fault befall a node; returns a function that ends it."""


def nothing() -> None:
    """Undo of a fault that is over at once or cannot be taken back."""
