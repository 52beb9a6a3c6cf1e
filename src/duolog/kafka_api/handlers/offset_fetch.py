"""OffsetFetch: committed offsets of one group, or from version 8 on of several.

There are no transactions, so every committed offset is stable and `require_stable` always holds.
"""

from collections.abc import Mapping
from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.ledger import NO_LEADER_EPOCH, CommittedOffset, TopicPartition
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.group_topics import resolve_topic
from duolog.model.errors import Refusal, UnknownTopicId

LAST_VERSION_WITHOUT_GROUP_ERROR = 1
FIRST_VERSION_WITH_TOPIC_IDS = 10

NOTHING_COMMITTED = CommittedOffset(-1, NO_LEADER_EPOCH, "", -1)


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    groups = getattr(request, "groups", None)
    if groups is None:
        return _fetch(broker, request, client.api_version)
    return {
        "groups": [
            {"group_id": each.group_id, **_fetch(broker, each, client.api_version)}
            for each in groups
        ]
    }


def _fetch(broker: Broker, asked: Any, version: int) -> dict[str, Any]:
    try:
        group = broker.groups.find(asked.group_id)
    except Refusal as refusal:
        topics = asked.topics if version <= LAST_VERSION_WITHOUT_GROUP_ERROR else ()
        return {
            "error_code": code_of(refusal),
            "topics": [
                _topic(each.name, [_refused(index, refusal) for index in each.partition_indexes])
                for each in topics
            ],
        }
    offsets = group.ledger.offsets if group else {}
    if asked.topics is None:
        topics = _all(broker, offsets, version)
    else:
        topics = [_asked(broker, each, offsets) for each in asked.topics]
    return {"error_code": 0, "topics": topics}


def _all(
    broker: Broker, offsets: Mapping[TopicPartition, CommittedOffset], version: int
) -> list[dict[str, Any]]:
    by_topic: dict[str, list[dict[str, Any]]] = {}
    for at, committed in offsets.items():
        by_topic.setdefault(at.topic, []).append(_partition(at.partition, committed))
    if version < FIRST_VERSION_WITH_TOPIC_IDS:
        return [_topic(name, partitions) for name, partitions in by_topic.items()]
    known = broker.catalog.topics
    return [
        _topic(name, partitions, topic_id=known[name].id)
        for name, partitions in by_topic.items()
        if name in known
    ]


def _asked(
    broker: Broker, asked: Any, offsets: Mapping[TopicPartition, CommittedOffset]
) -> dict[str, Any]:
    topic = resolve_topic(broker, asked)
    ids = {"topic_id": asked.topic_id} if hasattr(asked, "topic_id") else {}
    if isinstance(topic, UnknownTopicId):
        return _topic("", [_refused(index, topic) for index in asked.partition_indexes], **ids)
    # An unknown topic has no offsets; asking for them is not an error.
    name = asked.name if isinstance(topic, Refusal) else topic.name
    partitions = [
        _partition(index, offsets.get(TopicPartition(name, index), NOTHING_COMMITTED))
        for index in asked.partition_indexes
    ]
    return _topic(name, partitions, **ids)


def _topic(name: str, partitions: list[dict[str, Any]], **ids: Any) -> dict[str, Any]:
    return {"name": name, "partitions": partitions, **ids}


def _partition(index: int, committed: CommittedOffset) -> dict[str, Any]:
    return {
        "partition_index": index,
        "committed_offset": committed.offset,
        "committed_leader_epoch": committed.leader_epoch,
        "metadata": committed.metadata,
        "error_code": 0,
    }


def _refused(index: int, refusal: Refusal) -> dict[str, Any]:
    return {**_partition(index, NOTHING_COMMITTED), "error_code": code_of(refusal)}
