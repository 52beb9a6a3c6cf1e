"""State of the cluster, as nodes report it: partitions, replicas, bounds, stored bytes."""

import asyncio
from typing import NamedTuple

from duolog.client.cluster import Cluster
from duolog.client.cluster_operator import ClusterOperator
from duolog.client.errors import ClientError
from duolog.client.offsets import Bounds, TopicPartition, bounds_of
from duolog.client.placement import stored_bytes
from duolog.config.address import parse_address
from duolog_pipelines.load.advice import NodeState
from pyspark_duolog.asking import Asking
from pyspark_duolog.option import read_endpoints

PATIENCE_MS = 60_000


class Seen(NamedTuple):
    replicas: dict[TopicPartition, tuple[int, ...]]
    leaders: dict[TopicPartition, int]
    bounds: dict[TopicPartition, Bounds]
    stored: dict[TopicPartition, int]
    """Bytes on the node that leads the partition."""
    nodes: dict[int, NodeState]
    """Nodes that partitions can be moved to."""

    @property
    def topics(self) -> list[str]:
        return sorted({topic for topic, _ in self.replicas})


def see(bootstrap_servers: str, admin_address: str) -> Seen:
    asking = Asking(read_endpoints(bootstrap_servers), PATIENCE_MS)
    return asking.ask(_see)._replace(nodes=asyncio.run(_nodes(admin_address)))


async def _see(cluster: Cluster) -> Seen:
    told = await cluster.metadata()
    partitions = {
        (topic.name, each.partition): each
        for topic in told.topics.values()
        if not topic.is_internal
        for each in topic.partitions
    }
    stored = {node: await stored_bytes(cluster, node) for node in told.brokers}
    bounds = await bounds_of(cluster, list(partitions), missing_ok=True)
    there = {at: each for at, each in partitions.items() if at in bounds}
    return Seen(
        {at: each.replicas for at, each in there.items()},
        {at: each.leader for at, each in there.items()},
        bounds,
        {at: stored.get(each.leader, {}).get(at, 0) for at, each in there.items()},
        {},
    )


async def _nodes(admin_address: str) -> dict[int, NodeState]:
    """Live brokers that are not draining; empty where no cluster answers, such as on a lone
    node."""
    try:
        async with ClusterOperator(parse_address(admin_address)) as operator:
            told = await operator.described()
    except ClientError:
        return {}
    return {
        node.id: NodeState(node.host, node.rack)
        for node in told.nodes
        if node.alive and not node.draining and "broker" in node.roles
    }
