"""Long turns of the nodes' event loops, as their metrics count them."""

from collections.abc import Sequence

from tests.harness.node import Node

COUNT = "duolog_long_turns_total"
LONGEST = "duolog_longest_turn_seconds"


class LongTurns:
    """Counts from when it is made."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._before = [self._metric(node, COUNT) or 0.0 for node in nodes]

    def since(self) -> tuple[int, float | None]:
        """How many there were, and the longest of them if the nodes tell. A node that was
        started again counts from its start; what a killed one had counted is not known."""
        count = 0.0
        longest = []
        for node, before in zip(self._nodes, self._before, strict=True):
            now = self._metric(node, COUNT) or 0.0
            count += now - before if now >= before else now
            longest.append(self._metric(node, LONGEST))
        known = [each for each in longest if each is not None]
        return int(count), max(known) if known else None

    def _metric(self, node: Node, name: str) -> float | None:
        try:
            return node.metric(name)
        except (OSError, AssertionError):
            return None
