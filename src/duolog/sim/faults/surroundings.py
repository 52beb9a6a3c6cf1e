"""Clocks that are set, and a store that changes its leader or forgets its history."""

from duolog.sim.faults.scene import Fault, Scene, Undo, nothing

JUMPS_MS = (200, 5_000, 60_000)


def _clock_jump(scene: Scene, number: int) -> Undo:
    clock = scene.cluster.machine(number).clock
    clock.skew_ms = scene.random.choice((-1, 1)) * scene.random.choice(JUMPS_MS)
    return nothing


def _store_fail_over(scene: Scene, number: int) -> Undo:
    store = scene.cluster.store
    store.go_away()
    # Two fail-overs that overlap count as one: the store is back when the first ends.
    return store.come_back


def _store_compaction(scene: Scene, number: int) -> Undo:
    scene.cluster.store.compact()
    return nothing


KINDS: dict[str, Fault] = {
    "clock-jump": _clock_jump,
    "store-fail-over": _store_fail_over,
    "store-compaction": _store_compaction,
}
