"""Decides which nodes hold the replicas of new partitions. Pure.

Preferred leaders go round the nodes, and the followers of one leader are spread over all the
others, so that the partitions of a lost leader do not all fall to one neighbour. No two replicas
share a host while there are enough hosts, and likewise a rack. The same inputs give the same
placement.
"""

from collections.abc import Collection, Mapping, Sequence

from duolog.model.cluster import LiveNode
from duolog.model.errors import InvalidReplicationFactor


def place(
    partitions: int,
    factor: int,
    nodes: Sequence[LiveNode],
    load: Mapping[int, int],
    *,
    start: int,
    avoided: Collection[int] = (),
) -> list[tuple[int, ...]]:
    """The replicas of each new partition, its preferred leader first.

    `load` is the number of replicas that each node has already; `start` differs from topic to
    topic, so that not every topic's first partition lands on the same node. `avoided` are nodes
    that the others cannot reach: they get no replica while there are enough others, and lead
    nothing while there are any.
    """
    usable = [node for node in nodes if not node.draining and node.id not in avoided]
    if factor > len(usable):
        # A draining node is better than no placement at all.
        usable = list(nodes)
    if not 0 < factor <= len(usable):
        raise InvalidReplicationFactor(
            f"replication factor {factor} needs as many brokers, and {len(usable)} are alive"
        )
    return _Placing(usable, load, start, avoided).places(partitions, factor)


class _Placing:
    def __init__(
        self,
        nodes: Sequence[LiveNode],
        load: Mapping[int, int],
        start: int,
        avoided: Collection[int],
    ) -> None:
        self._avoided = avoided
        ordered = sorted(nodes, key=lambda node: node.id)
        turn = start % len(ordered)
        self._order = ordered[turn:] + ordered[:turn]
        self._rank = {node.id: rank for rank, node in enumerate(self._order)}
        self._replicas = {node.id: load.get(node.id, 0) for node in ordered}
        self._leaders = dict.fromkeys(self._replicas, 0)
        self._pairs: dict[tuple[int, int], int] = {}
        """(leader, follower) → number of new partitions with this pair."""

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
        is_avoided = node.id in self._avoided
        return is_avoided, self._leaders[node.id], self._replicas[node.id], self._rank[node.id]

    def _follower_cost(self, chosen: Sequence[LiveNode], node: LiveNode) -> tuple[int, ...]:
        return (
            node.id in self._avoided,
            *crowding(node, chosen),
            self._replicas[node.id],
            self._pairs.get((chosen[0].id, node.id), 0),
            self._rank[node.id],
        )


def crowding(node: LiveNode, others: Sequence[LiveNode]) -> tuple[int, int]:
    """Numbers of others that share the node's host, and its rack; less is better.

    A node without a host or rack name shares none: its location is unknown.
    """
    rack, host = node.registration.rack, node.registration.host
    return (
        sum(bool(host) and other.registration.host == host for other in others),
        sum(bool(rack) and other.registration.rack == rack for other in others),
    )
