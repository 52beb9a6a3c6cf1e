"""What live nodes say of themselves and of each other, and which of it is believed. Pure.

A statement counts while its node is alive under the broker epoch under which it was made. Silence
is no evidence: without statements, nodes are believed to reach each other and to have room.
"""

from collections.abc import Mapping

from duolog.model.cluster import LiveNode
from duolog.model.statement import Statement


class Statements:
    def __init__(self, live: Mapping[int, LiveNode], statements: Mapping[int, Statement]) -> None:
        self._said = {
            node: statements[node]
            for node in sorted(statements)
            if node in live and statements[node].epoch == live[node].epoch
        }
        self._complaints: dict[int, tuple[int, ...]] = {}
        """Live nodes → live nodes that cannot reach them."""
        for node, said in self._said.items():
            for other in said.unreachable:
                if other in live and self.cannot_reach(node, other):
                    self._complaints[other] = (*self._complaints.get(other, ()), node)

    def is_full(self, node: int) -> bool:
        return node in self._said and self._said[node].full

    def is_rebalancing(self, node: int, partition: int) -> bool:
        """True if the node says that groups of the partition of the offsets topic rebalance."""
        return node in self._said and partition in self._said[node].rebalancing

    def cannot_reach(self, node: int, other: int) -> bool:
        """True if the node says that it cannot reach the other, and the other does not say that
        the node reads from it."""
        if node not in self._said or other not in self._said[node].unreachable:
            return False
        return not self.reads_from(node, other)

    def reads_from(self, node: int, other: int) -> bool:
        """True if the other says that the node has lately fetched from it."""
        return other in self._said and node in self._said[other].readers

    def complaints(self, node: int) -> tuple[int, ...]:
        """Live nodes that cannot reach the node."""
        return self._complaints.get(node, ())

    @property
    def broken_links(self) -> list[tuple[int, int]]:
        """Live nodes with each live node that they cannot reach."""
        return [(each, node) for node, found in self._complaints.items() for each in found]

    def doubters(self, node: int) -> tuple[int, ...]:
        """Live nodes that cannot reach the node though others reach them as well or better.

        A node that is cut off from all others says that it can reach none of them, too: it is
        believed of none, since more nodes say that of itself.
        """
        found = self.complaints(node)
        return tuple(each for each in found if len(self.complaints(each)) <= len(found))
