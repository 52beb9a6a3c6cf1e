"""What keeps a node alive: no turn of its loop is long, and no lease ends that need not."""

from collections.abc import Callable, Sequence

from duolog.broker.membership.entries import BROKERS_PREFIX, node_of_key
from duolog.sim.oracle.verdict import Verdict

TURN_NS_MAX = 100_000_000
"""Longest turn of a loop, in CPU time."""


class LivelinessOracle:
    def __init__(self, verdict: Verdict, was_hurt: Callable[[int], bool]) -> None:
        self._verdict = verdict
        self._was_hurt = was_hurt
        """True if a fault has befallen the node, or the store, now or lately."""
        self.longest_turn_ns = 0

    def turned(self, node: int, cpu_ns: int) -> None:
        self.longest_turn_ns = max(self.longest_turn_ns, cpu_ns)
        if cpu_ns > TURN_NS_MAX:
            self._verdict.violated("turns are short", f"node {node} computed {cpu_ns / 1e6:.0f} ms")

    def lease_ended(self, keys: Sequence[str]) -> None:
        """Called when the store has ended a lease that was not renewed, with its keys."""
        for key in keys:
            if key.startswith(BROKERS_PREFIX):
                node = node_of_key(key)
                if not self._was_hurt(node):
                    self._verdict.violated("leases last", f"node {node} lost its lease unhurt")
