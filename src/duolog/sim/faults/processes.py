"""Nodes that crash, restart, lose power, or pause."""

from duolog.sim.faults.scene import Fault, Scene, Undo, nothing

OPERATIONS_MAX = 20


def _kill(scene: Scene, number: int) -> Undo:
    scene.cluster.kill(number)
    return lambda: scene.cluster.start(number)


def _restart(scene: Scene, number: int) -> Undo:
    """Stop a node in an orderly way; kill it if that takes too long, then start it."""
    scene.cluster.stop(number)

    def undo() -> None:
        scene.cluster.kill(number)
        scene.cluster.start(number)

    return undo


def _power_cut(scene: Scene, number: int) -> Undo:
    scene.cluster.power_off(number)
    return lambda: scene.cluster.start(number)


def _power_cut_while_writing(scene: Scene, number: int) -> Undo:
    """Cut the power at the next change of the disk or one soon after, between any two of them."""
    scene.cluster.hold_down(number)
    device = scene.cluster.machine(number).device
    device.operations_left = scene.random.randrange(OPERATIONS_MAX)

    def undo() -> None:
        device.operations_left = None
        scene.cluster.start(number)

    return undo


def _power_cut_of_all(scene: Scene, number: int) -> Undo:
    for each in scene.cluster.numbers:
        scene.cluster.power_off(each)

    def undo() -> None:
        for each in scene.cluster.numbers:
            scene.cluster.start(each)

    return undo


def _pause(scene: Scene, number: int) -> Undo:
    process = scene.cluster.machine(number).process
    if process is None:
        return nothing
    process.pause()
    return process.resume


KINDS: dict[str, Fault] = {
    "kill": _kill,
    "restart": _restart,
    "power-cut": _power_cut,
    "power-cut-while-writing": _power_cut_while_writing,
    "power-cut-of-all": _power_cut_of_all,
    "pause": _pause,
}
