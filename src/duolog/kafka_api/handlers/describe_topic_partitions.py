"""DescribeTopicPartitions: topics in the order of their names, a page of partitions at a time."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.operations import ALL_ON_TOPIC
from duolog.model.errors import InvalidRequest, Refusal, UnknownTopicOrPartition
from duolog.model.names import check_topic_name

_PAGE_PARTITIONS_MAX = 2_000
"""Limit of partitions in one response, whatever the client asks for."""


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    named = {topic.name for topic in request.topics}
    cursor = request.cursor
    names = sorted(named or broker.catalog.topics)
    if cursor is not None and cursor.partition_index < 0:
        refusal = InvalidRequest(f"a cursor cannot be at partition {cursor.partition_index}")
        return {"topics": [_refused(name, refusal) for name in names]}
    room = min(max(request.response_partition_limit, 1), _PAGE_PARTITIONS_MAX)
    topics: list[dict[str, Any]] = []
    for name in names:
        if cursor is not None and name < cursor.topic_name:
            continue
        first = cursor.partition_index if cursor and name == cursor.topic_name else 0
        if room == 0:
            return {"topics": topics, "next_cursor": _cursor(name, first)}
        try:
            topic = _find(broker, name)
        except Refusal as refusal:
            topics.append(_refused(name, refusal))
            continue
        end = min(topic.partitions, first + room)
        topics.append(_described(broker, topic, range(first, end)))
        room -= max(end - first, 0)
        if end < topic.partitions:
            return {"topics": topics, "next_cursor": _cursor(name, end)}
    return {"topics": topics, "next_cursor": None}


def _find(broker: Broker, name: str) -> Topic:
    try:
        return broker.catalog.get(name)
    except UnknownTopicOrPartition:
        check_topic_name(name)
        raise


def _described(broker: Broker, topic: Topic, indexes: range) -> dict[str, Any]:
    return {
        "error_code": 0,
        "name": topic.name,
        "topic_id": topic.id,
        "is_internal": topic.internal,
        "partitions": [_partition(broker, topic, index) for index in indexes],
        "topic_authorized_operations": ALL_ON_TOPIC,
    }


def _partition(broker: Broker, topic: Topic, index: int) -> dict[str, Any]:
    state = broker.catalog.partition_state(topic, index)
    live = broker.catalog.nodes.live
    return {
        "error_code": 0,
        "partition_index": index,
        "leader_id": state.leader,
        "leader_epoch": state.leader_epoch,
        "replica_nodes": state.replicas,
        "isr_nodes": state.in_sync,
        "eligible_leader_replicas": state.eligible,
        "last_known_elr": [],
        "offline_replicas": [node for node in state.replicas if node not in live],
    }


def _refused(name: str, refusal: Refusal) -> dict[str, Any]:
    return {"error_code": code_of(refusal), "name": name, "topic_id": None, "partitions": []}


def _cursor(name: str, index: int) -> dict[str, Any]:
    return {"topic_name": name, "partition_index": index}
