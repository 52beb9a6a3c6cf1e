"""Decides on which nodes the replicas of new partitions are. Pure.

Preferred leaders go round the nodes, and the followers of one leader are spread over all the
others, so that what a lost node led does not all fall to one neighbour. No two replicas are on
one host as long as there are hosts enough, and likewise for racks. The same inputs give the
same places.
"""

from collections.abc import Mapping, Sequence

from duolog.model.cluster import LiveNode
from duolog.model.errors import InvalidReplicationFactor


def place(
    partitions: int,
    factor: int,
    nodes: Sequence[LiveNode],
    load: Mapping[int, int],
    *,
    start: int,
) -> list[tuple[int, ...]]:
    """The replicas of each new partition, its preferred leader first.

    `load` is how many replicas each node has already; `start` is a number that differs from
    topic to topic, so that the first partitions do not all meet on one node.
    """
    usable = [node for node in nodes if not node.draining] or list(nodes)
    if factor > len(usable):
        # Rather on a node that is being emptied than not at all.
        usable = list(nodes)
    if not 0 < factor <= len(usable):
        raise InvalidReplicationFactor(
            f"replication factor {factor} needs as many brokers, and {len(usable)} are alive"
        )
    return _Placing(usable, load, start).places(partitions, factor)


class _Placing:
    def __init__(self, nodes: Sequence[LiveNode], load: Mapping[int, int], start: int) -> None:
        ordered = sorted(nodes, key=lambda node: node.id)
        turn = start % len(ordered)
        self._order = ordered[turn:] + ordered[:turn]
        self._rank = {node.id: rank for rank, node in enumerate(self._order)}
        self._replicas = {node.id: load.get(node.id, 0) for node in ordered}
        self._leaders = dict.fromkeys(self._replicas, 0)
        self._pairs: dict[tuple[int, int], int] = {}
        """How often the second follows the first."""

    def places(self, partitions: int, factor: int) -> list[tuple[int, ...]]:
        return [self._place(factor) for _ in range(partitions)]

    def _place(self, factor: int) -> tuple[int, ...]:
        leader = min(self._order, key=self._leader_cost)
        self._leaders[leader.id] += 1
        chosen = [leader]
        while len(chosen) < factor:
            others = [node for node in self._order if node not in chosen]
            chosen.append(min(others, key=lambda node: self._follower_cost(chosen, node)))
        for node in chosen:
            self._replicas[node.id] += 1
        for follower in chosen[1:]:
            pair = leader.id, follower.id
            self._pairs[pair] = self._pairs.get(pair, 0) + 1
        return tuple(node.id for node in chosen)

    def _leader_cost(self, node: LiveNode) -> tuple[int, ...]:
        return self._leaders[node.id], self._replicas[node.id], self._rank[node.id]

    def _follower_cost(self, chosen: Sequence[LiveNode], node: LiveNode) -> tuple[int, ...]:
        return (
            *crowding(node, chosen),
            self._replicas[node.id],
            self._pairs.get((chosen[0].id, node.id), 0),
            self._rank[node.id],
        )


def crowding(node: LiveNode, others: Sequence[LiveNode]) -> tuple[int, int]:
    """How many of the others share its host, and how many its rack; less is better.

    A node that names none shares none: nothing is known about where it is.
    """
    rack, host = node.registration.rack, node.registration.host
    return (
        sum(bool(host) and other.registration.host == host for other in others),
        sum(bool(rack) and other.registration.rack == rack for other in others),
    )
