"""The Metadata API: brokers, topics, and each partition's leader and replicas."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple
from uuid import UUID

from duolog.client.errors import Endpoint, check

NO_LEADER = -1


class PartitionInfo(NamedTuple):
    partition: int
    leader: int
    """Node id of the leader, or NO_LEADER."""
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


class TopicInfo(NamedTuple):
    name: str
    id: UUID | None
    is_internal: bool
    partitions: tuple[PartitionInfo, ...]
    """All partitions, ordered by index; the indexes have no gaps."""


class Metadata(NamedTuple):
    cluster_id: str | None
    controller: int
    brokers: Mapping[int, Endpoint]
    topics: Mapping[str, TopicInfo]


def request_fields(topics: Iterable[str] | None, *, may_create: bool = False) -> dict[str, Any]:
    """Fields of a Metadata request; `None` asks for all topics."""
    named = None if topics is None else [{"topic_id": None, "name": name} for name in topics]
    return {"topics": named, "allow_auto_topic_creation": may_create}


def read_metadata(response: Any) -> Metadata:
    """Reads a Metadata response; raises Refused if a topic in it has an error."""
    topics = {}
    for topic in response.topics:
        check(topic.error_code, f"topic '{topic.name}'")
        topics[topic.name] = TopicInfo(
            topic.name,
            topic.topic_id,
            topic.is_internal,
            tuple(
                PartitionInfo(
                    each.partition_index,
                    each.leader_id,
                    each.leader_epoch,
                    tuple(each.replica_nodes),
                    tuple(each.isr_nodes),
                )
                for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            ),
        )
    return Metadata(
        response.cluster_id,
        response.controller_id,
        {each.node_id: (each.host, each.port) for each in response.brokers},
        topics,
    )
