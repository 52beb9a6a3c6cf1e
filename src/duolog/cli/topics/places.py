"""Partitions and positions of a command line, resolved in a topic."""

from collections.abc import Collection, Sequence

from duolog.cli.failures import ExitCode, Failure
from duolog.cli.positions import Position
from duolog.client.cluster import Cluster
from duolog.client.offsets import NO_OFFSET, Bounds, TopicPartition, list_offsets


async def chosen_partitions(cluster: Cluster, topic: str, named: Collection[int]) -> Sequence[int]:
    """The named partitions, which must exist, or all."""
    known = range(len((await cluster.topic(topic)).partitions))
    for partition in named:
        if partition not in known:
            raise Failure(
                f"There is no partition {partition} of topic '{topic}'. Its last one is"
                f" {known[-1]}: run `duolog topic info {topic}` to see them.",
                ExitCode.NOT_FOUND,
            )
    return sorted(set(named)) or known


async def resolve(
    cluster: Cluster, position: Position, bounds: dict[TopicPartition, Bounds]
) -> dict[TopicPartition, int]:
    """Offset of a position in each partition, clamped to its bounds."""
    match position.kind:
        case "start":
            return {at: each.start_offset for at, each in bounds.items()}
        case "end":
            return {at: each.end_offset for at, each in bounds.items()}
        case "offset":
            found = dict.fromkeys(bounds, position.value)
        case "time":
            found = await list_offsets(cluster, dict.fromkeys(bounds, position.value))
    return {
        at: each.end_offset
        if found[at] == NO_OFFSET
        else min(max(found[at], each.start_offset), each.end_offset)
        for at, each in bounds.items()
    }
