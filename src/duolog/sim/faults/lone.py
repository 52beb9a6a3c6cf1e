"""One fault on a cluster that is whole: the others must serve everything while it lasts."""

from random import Random

from duolog.sim.cluster import Cluster
from duolog.sim.faults import disks, links, processes
from duolog.sim.faults.scene import Fault, Scene, Undo
from duolog.sim.faults.wounds import Wounds
from duolog.sim.world import NS_PER_S

KINDS: dict[str, Fault] = {
    "kill": processes.KINDS["kill"],
    "pause": processes.KINDS["pause"],
    "power-cut": processes.KINDS["power-cut"],
    "isolate": links.KINDS["isolate"],
    "cut-between-nodes": links.KINDS["cut-between-nodes"],
    "cut-from-nodes": links.KINDS["cut-from-nodes"],
    "full-disk": disks.KINDS["full-disk"],
}


class LoneFault:
    def __init__(
        self, cluster: Cluster, random: Random, scene: Scene, wounds: Wounds, kinds: list[str]
    ) -> None:
        self._cluster = cluster
        self._scene = scene
        self._wounds = wounds
        self.kind = random.choice(kinds)
        self._node = random.choice(cluster.numbers)
        self._undo: Undo | None = None
        self.log: list[str] = []

    @property
    def what(self) -> str:
        return f"{self.kind} of node {self._node}"

    def begin(self) -> None:
        self._note(f"alone: {self.what}")
        self._wounds.begin([self._node])
        self._undo = KINDS[self.kind](self._scene, self._node)

    def end(self) -> None:
        assert self._undo is not None
        self._note(f"end of {self.what}")
        self._undo()
        self._wounds.end([self._node])

    def _note(self, what: str) -> None:
        self.log.append(f"{self._cluster.world.now_ns / NS_PER_S:10.6f} {what}")


def kinds_among(allowed: tuple[str, ...]) -> list[str]:
    """Kinds of lone faults; only the allowed ones, if any are named."""
    return [kind for kind in KINDS if not allowed or kind in allowed]
