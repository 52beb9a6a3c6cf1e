"""Disks that are slow, full, failing, wrong or empty."""

from duolog.sim.device import Device
from duolog.sim.faults.scene import Fault, Scene, Undo, nothing

SLOWNESS = (10.0, 100.0, 1_000.0)
ROOM_BYTES_MAX = 4_000


def _device(scene: Scene, number: int) -> Device:
    return scene.cluster.machine(number).device


def _slow_disk(scene: Scene, number: int) -> Undo:
    device = _device(scene, number)
    device.slowness = scene.random.choice(SLOWNESS)

    def undo() -> None:
        device.slowness = 1.0

    return undo


def _full_disk(scene: Scene, number: int) -> Undo:
    device = _device(scene, number)
    device.fill(scene.random.randrange(ROOM_BYTES_MAX))
    return device.empty


def _failing_sync(scene: Scene, number: int) -> Undo:
    device = _device(scene, number)
    device.fails_syncs = True

    def undo() -> None:
        device.fails_syncs = False

    return undo


def _failing_write(scene: Scene, number: int) -> Undo:
    device = _device(scene, number)
    device.fails_writes = True

    def undo() -> None:
        device.fails_writes = False

    return undo


def _flipped_bit(scene: Scene, number: int) -> Undo:
    """Flip a bit in a sealed segment, where scrubbing will find it."""
    device = _device(scene, number)
    logs = [(path, inode) for path, inode in device.names.files() if path.endswith(".log")]
    sealed = [
        (path, inode)
        for path, inode in logs
        if any(_directory(path) == _directory(other) and path < other for other, _ in logs)
    ]
    if sealed:
        path, inode = scene.random.choice(sealed)
        scene.has_flipped = True
        position = scene.random.randrange(len(inode.stable))
        device.flip_bit(path, position, scene.random.randrange(8))
    return nothing


def _directory(path: str) -> str:
    return path.rpartition("/")[0]


def _wiped_disk(scene: Scene, number: int) -> Undo:
    scene.cluster.wipe(number)
    return lambda: scene.cluster.start(number)


KINDS: dict[str, Fault] = {
    "slow-disk": _slow_disk,
    "full-disk": _full_disk,
    "failing-sync": _failing_sync,
    "failing-write": _failing_write,
    "flipped-bit": _flipped_bit,
    "wiped-disk": _wiped_disk,
}

DESTROYING = frozenset(("flipped-bit", "wiped-disk"))
"""Kinds that destroy durable data; they befall the victim only."""
