"""Links that lose packets, delay them, or break connections."""

from duolog.sim.cluster import CLIENT
from duolog.sim.faults.scene import Fault, Scene, Undo, nothing
from duolog.sim.store_server import STORE

DELAYS_MS = (20, 100, 500, 2_000)


def _isolate(scene: Scene, number: int) -> Undo:
    """Cut a node off from all others and the store; half of the time from clients, too."""
    mine = scene.name(number)
    targets = [*scene.others(number), STORE]
    if scene.random.random() < 0.5:
        targets.append(CLIENT)
    return scene.cut(_both_ways(mine, targets))


def _cut_one_way(scene: Scene, number: int) -> Undo:
    mine = scene.name(number)
    other = scene.random.choice([*scene.others(number), STORE, CLIENT])
    return scene.cut([(mine, other) if scene.random.random() < 0.5 else (other, mine)])


def _cut_between_nodes(scene: Scene, number: int) -> Undo:
    """Cut a node off from the others; all still reach the store and believe each other alive."""
    return scene.cut(_both_ways(scene.name(number), scene.others(number)))


def _cut_from_nodes(scene: Scene, number: int) -> Undo:
    """Cut a node off from the others in one direction, as a firewall does."""
    mine, others = scene.name(number), scene.others(number)
    is_deaf = scene.random.random() < 0.5
    return scene.cut([(other, mine) if is_deaf else (mine, other) for other in others])


def _cut_from_store(scene: Scene, number: int) -> Undo:
    return scene.cut(_both_ways(scene.name(number), [STORE]))


def _delay(scene: Scene, number: int) -> Undo:
    """Delay each packet by a random time, so that packets of different connections overtake each
    other."""
    links = scene.cluster.links
    most_ms = scene.random.choice(DELAYS_MS)
    pairs = _both_ways(scene.name(number), [*scene.others(number), STORE, CLIENT])
    for pair in pairs:
        links.delay(*pair, most_ms)

    def undo() -> None:
        for pair in pairs:
            links.delay(*pair, 0)

    return undo


def _reset(scene: Scene, number: int) -> Undo:
    for socket in scene.cluster.network.sockets(scene.name(number)):
        if scene.random.random() < 0.5:
            socket.break_off()
    return nothing


def _reject(scene: Scene, number: int) -> Undo:
    """Break connections to a node off and refuse new ones, as a middlebox, or the kernel of a
    process that has ended, would."""
    cluster, mine = scene.cluster, scene.name(number)
    pairs = [(other, mine) for other in scene.others(number) if scene.random.random() < 0.7]
    for pair in pairs:
        cluster.links.reject(*pair)
    for socket in cluster.network.sockets(mine):
        if (socket.remote[0], mine) in pairs:
            socket.break_off()

    def undo() -> None:
        for pair in pairs:
            cluster.links.accept(*pair)

    return undo


def _both_ways(mine: str, targets: list[str]) -> list[tuple[str, str]]:
    return [pair for other in targets for pair in ((mine, other), (other, mine))]


KINDS: dict[str, Fault] = {
    "isolate": _isolate,
    "cut-one-way": _cut_one_way,
    "cut-between-nodes": _cut_between_nodes,
    "cut-from-nodes": _cut_from_nodes,
    "cut-from-store": _cut_from_store,
    "delay": _delay,
    "reset": _reset,
    "reject": _reject,
}
