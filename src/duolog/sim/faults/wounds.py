"""Nodes that faults hurt now or lately: what these lose proves nothing."""

from collections.abc import Callable, Iterable

from duolog.sim.world import NS_PER_S

LATELY_NS = 12 * NS_PER_S
"""Time after the end of a fault in which its node may still suffer from it: processes start again,
connections are retried."""


class Wounds:
    def __init__(self, now_ns: Callable[[], int]) -> None:
        self._now_ns = now_ns
        self._faults: dict[int, int] = {}
        """Number of faults that befall the node now."""
        self._ended_ns: dict[int, int] = {}

    def begin(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._faults[node] = self._faults.get(node, 0) + 1

    def end(self, nodes: Iterable[int]) -> None:
        for node in nodes:
            self._faults[node] -= 1
            self._ended_ns[node] = self._now_ns()

    def was_hurt(self, node: int) -> bool:
        if self._faults.get(node):
            return True
        ended_ns = self._ended_ns.get(node)
        return ended_ns is not None and self._now_ns() - ended_ns < LATELY_NS
