"""Long turns of the nodes' event loops, as their metrics count them."""

from collections.abc import Sequence

from tests.harness.node import Node

COUNT = "duolog_long_turns_total"
LONGEST = "duolog_longest_turn_seconds"


class LongTurns:
    """Counts from when it is made."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._before = [_metrics(node) for node in nodes]

    def since(self) -> tuple[int, float | None]:
        """How many there were, and the seconds of the longest, if that is known: nodes tell the
        longest since their start. What a killed node had counted is lost with it."""
        count = 0.0
        longest = []
        for node, (count_before, longest_before) in zip(self._nodes, self._before, strict=True):
            count_now, longest_now = _metrics(node)
            was_restarted = count_now < count_before
            count += count_now if was_restarted else count_now - count_before
            if was_restarted or longest_now > longest_before:
                longest.append(longest_now)
        return int(count), max(longest, default=None)


def _metrics(node: Node) -> tuple[float, float]:
    try:
        return node.metric(COUNT), node.metric(LONGEST)
    except (OSError, AssertionError):
        return 0.0, 0.0
