"""Adds partitions, moves them between nodes, and reads their sizes on disk."""

from collections.abc import Sequence

from duolog.client.cluster import Cluster
from duolog.client.errors import check
from duolog.client.offsets import TopicPartition
from duolog.wire.kafka.apis import ApiKey

_TIMEOUT_MS = 30_000


async def create_partitions(cluster: Cluster, topic: str, count: int) -> None:
    """Raises the topic's partition count to `count`; the cluster places the new partitions."""
    wanted = {"name": topic, "count": count, "assignments": None}
    fields = {"topics": [wanted], "timeout": _TIMEOUT_MS, "validate_only": False}

    async def attempt() -> None:
        response = await cluster.call(ApiKey.CREATE_PARTITIONS, fields)
        (created,) = response.results
        check(created.error_code, f"topic '{topic}'", created.error_message)

    await cluster.retry(attempt)
    cluster.forget()


async def stored_bytes(cluster: Cluster, node: int) -> dict[TopicPartition, int]:
    """Size of each partition on a node's disk."""
    response = await cluster.call(ApiKey.DESCRIBE_LOG_DIRS, {"topics": None}, node=node)
    return {
        (topic.name, each.partition_index): each.partition_size
        for directory in response.results
        for topic in directory.topics
        for each in topic.partitions
    }


async def move_partition(
    cluster: Cluster, topic: str, partition: int, replicas: Sequence[int]
) -> None:
    """Starts a reassignment; returns once it is accepted, before the data is copied."""
    wanted = {"partition_index": partition, "replicas": list(replicas)}
    fields = {
        "timeout": _TIMEOUT_MS,
        "topics": [{"name": topic, "partitions": [wanted]}],
    }

    async def attempt() -> None:
        response = await cluster.call(ApiKey.ALTER_PARTITION_REASSIGNMENTS, fields)
        check(response.error_code, "the move", response.error_message)
        ((moved,),) = (each.partitions for each in response.responses)
        subject = f"partition {partition} of topic '{topic}'"
        check(moved.error_code, subject, moved.error_message)

    await cluster.retry(attempt)
