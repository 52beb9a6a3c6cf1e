"""What can happen to a cluster: faults that begin and end."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from tests.harness.distant_cluster import DistantCluster


class Fault(ABC):
    """One of a kind that `kind` counts. It hurts `victims`, which no other may hurt meanwhile."""

    kind: str
    is_survivable = True
    """Whether the others go on by themselves before it is over."""

    def __init__(self, place: DistantCluster, victims: Sequence[str]) -> None:
        self.place = place
        self.victims = set(victims)

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def end(self) -> None: ...

    def __str__(self) -> str:
        return f"{self.kind} of {', '.join(sorted(self.victims))}"


class _OfNode(Fault):
    def __init__(self, place: DistantCluster, number: int) -> None:
        super().__init__(place, [place.node_machine(number)])
        self.number = number
        self.node = place.cluster.nodes[number]


class Kill(_OfNode):
    kind = "kill"

    def begin(self) -> None:
        self.node.kill()
        self.node.check_log()

    def end(self) -> None:
        self.node.spawn()


class Freeze(_OfNode):
    kind = "freeze"

    def begin(self) -> None:
        self.node.freeze()

    def end(self) -> None:
        self.node.thaw()


class Cut(_OfNode):
    """A power cut: what was not synced is gone."""

    kind = "power cut"

    def begin(self) -> None:
        disk = self.place.disks[self.number]
        # The processor stops with the disk, so that nothing is said after it.
        self.node.freeze()
        disk.cut()
        self.node.kill()
        self.node.check_log()
        disk.unmount()
        disk.mount()

    def end(self) -> None:
        self.node.spawn()


class Blackout(Fault):
    """A power cut of all nodes at once; etcd has another supply."""

    kind = "blackout"
    is_survivable = False

    def __init__(self, place: DistantCluster) -> None:
        super().__init__(place, place.node_machines)
        self._cuts = [Cut(place, number) for number in place.cluster.nodes]

    def begin(self) -> None:
        for cut in self._cuts:
            cut.begin()

    def end(self) -> None:
        for cut in self._cuts:
            cut.end()


class _OfEtcd(Fault):
    def __init__(self, place: DistantCluster, member: int) -> None:
        super().__init__(place, [place.etcd_machine(member)])
        self.member = member
        self.etcd = place.cluster.etcd


class EtcdKill(_OfEtcd):
    kind = "kill of etcd"

    def begin(self) -> None:
        self.etcd.kill(self.member)

    def end(self) -> None:
        self.etcd.start(self.member)


class EtcdFreeze(_OfEtcd):
    kind = "freeze of etcd"

    def begin(self) -> None:
        self.etcd.freeze(self.member)

    def end(self) -> None:
        self.etcd.thaw(self.member)


class Partition(Fault):
    """Both sides are there, and some packets between them are lost."""

    kind = "partition"

    def __init__(self, place: DistantCluster, number: int, chance: random.Random) -> None:
        self._node = place.node_machine(number)
        super().__init__(place, [self._node])
        nodes = [each for each in place.node_machines if each != self._node]
        etcd = place.etcd_machines
        self._name, self._others = chance.choice(
            [
                ("nodes", nodes),
                ("one node", [chance.choice(nodes)]),
                ("etcd", etcd),
                ("one member of etcd", [chance.choice(etcd)]),
                ("everybody", [*nodes, *etcd]),
            ]
        )
        self._way = chance.choice(["both ways", "both ways", "out", "in"])
        # A leader that its followers have lost keeps its place as long as it reaches the store.
        self.is_survivable = self._name != "nodes"

    def begin(self) -> None:
        match self._way:
            case "out":
                self.place.network.silence([self._node], self._others)
            case "in":
                self.place.network.silence(self._others, [self._node])
            case _:
                self.place.network.cut([self._node], self._others)

    def end(self) -> None:
        self.place.network.heal()

    def __str__(self) -> str:
        return f"partition of {self._node} from {self._name}, {self._way}"


Maker = Callable[[DistantCluster, int, int, random.Random], Fault]

MAKERS: list[Maker] = [
    lambda place, node, member, chance: Kill(place, node),
    lambda place, node, member, chance: Freeze(place, node),
    lambda place, node, member, chance: Cut(place, node),
    lambda place, node, member, chance: Blackout(place),
    lambda place, node, member, chance: Partition(place, node, chance),
    lambda place, node, member, chance: Partition(place, node, chance),
    lambda place, node, member, chance: EtcdKill(place, member),
    lambda place, node, member, chance: EtcdFreeze(place, member),
]
