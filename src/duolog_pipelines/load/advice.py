"""Advice that follows from the load: partitions to add, and partitions to move. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import NamedTuple

from duolog.model.advice import AddPartitions, MovePartition
from duolog.model.names import is_fifo

MOVES_MAX = 20
"""Limit of moves in one advice, since each copies a partition."""
GROWTH_MAX = 4
"""Limit of the factor by which a topic's partitions grow at once."""
TOLERANCE = 0.2
"""Share above the mean that a node may carry."""


class PartitionLoad(NamedTuple):
    topic: str
    partition: int
    replicas: tuple[int, ...]
    bytes_per_second: float
    stored_bytes: int


class NodeState(NamedTuple):
    host: str
    rack: str


class Limits(NamedTuple):
    partition_bytes_per_second: int
    """Target maximum of the write rate of one partition."""
    partitions_max: int


def additions(
    loads: Iterable[PartitionLoad], hot_shares: Mapping[str, float], limits: Limits
) -> list[AddPartitions]:
    """Partitions to add to topics whose partitions exceed the target rate.

    `hot_shares` gives, by topic, the share of its hottest key: records of one key stay in one
    partition, however many there are. FIFO queues never get any: messages of a group would have to
    move.
    """
    topics: dict[str, list[PartitionLoad]] = {}
    for load in loads:
        topics.setdefault(load.topic, []).append(load)
    found = []
    for topic, partitions in sorted(topics.items()):
        total = sum(load.bytes_per_second for load in partitions)
        spread = total * (1 - hot_shares.get(topic, 0.0))
        count = len(partitions)
        wanted = ceil(spread / limits.partition_bytes_per_second)
        wanted = min(wanted, count * GROWTH_MAX, limits.partitions_max)
        if wanted > count and not is_fifo(topic):
            reason = f"{total:.0f} bytes a second in {count} partitions"
            found.append(AddPartitions(topic, wanted, reason))
    return found


def moves(loads: Sequence[PartitionLoad], nodes: Mapping[int, NodeState]) -> list[MovePartition]:
    """Moves from overloaded nodes to others, until all carry about the same.

    A node's load is half its share of stored bytes and half its share of written bytes. Each move
    is the one that helps most; none goes where a replica is, or to its host or rack.
    """
    replicas = {(load.topic, load.partition): load.replicas for load in loads}
    weights = _weights(loads)
    carried = dict.fromkeys(nodes, 0.0)
    for at, on in replicas.items():
        for node in on:
            if node in carried:
                carried[node] += weights[at]
    found: dict[tuple[str, int], MovePartition] = {}
    while len(found) < MOVES_MAX:
        mean = sum(carried.values()) / max(1, len(carried))
        overloaded = sorted(
            (node for node in carried if carried[node] > mean * (1 + TOLERANCE)),
            key=lambda node: (-carried[node], node),
        )
        choices = (
            (full, _best_move(full, carried, replicas, weights, nodes, found))
            for full in overloaded
        )
        full, best = next((each for each in choices if each[1] is not None), (0, None))
        if best is None:
            break
        at, target = best
        reason = f"node {full} carries {carried[full] / mean:.1f} times the mean"
        replicas[at] = tuple(target if node == full else node for node in replicas[at])
        carried[full] -= weights[at]
        carried[target] += weights[at]
        found[at] = MovePartition(*at, list(replicas[at]), reason)
    return list(found.values())


def _weights(loads: Sequence[PartitionLoad]) -> dict[tuple[str, int], float]:
    stored = sum(load.stored_bytes for load in loads) or 1
    written = sum(load.bytes_per_second for load in loads) or 1.0
    return {
        (load.topic, load.partition): load.stored_bytes / stored + load.bytes_per_second / written
        for load in loads
    }


def _best_move(
    full: int,
    carried: Mapping[int, float],
    replicas: Mapping[tuple[str, int], tuple[int, ...]],
    weights: Mapping[tuple[str, int], float],
    nodes: Mapping[int, NodeState],
    moved: Collection[tuple[str, int]],
) -> tuple[tuple[str, int], int] | None:
    """The partition and target node whose move brings the two nodes' loads closest together."""
    best: tuple[float, tuple[str, int], int] | None = None
    for at, on in sorted(replicas.items()):
        if full not in on or at in moved:
            continue
        others = [nodes[node] for node in on if node != full and node in nodes]
        for target in sorted(nodes):
            if target in on or not _may_hold(nodes[target], others):
                continue
            gap = carried[full] - carried[target]
            # A weight above the gap would only reverse the imbalance.
            if 0 < weights[at] < gap:
                left = abs(gap - 2 * weights[at])
                if best is None or (left, at, target) < best:
                    best = (left, at, target)
    return None if best is None else (best[1], best[2])


def _may_hold(node: NodeState, others: Iterable[NodeState]) -> bool:
    """True if the node shares neither host nor rack with another replica."""
    return all(
        not (node.host and node.host == other.host) and not (node.rack and node.rack == other.rack)
        for other in others
    )
