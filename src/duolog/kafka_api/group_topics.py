"""Topics as the offset APIs name them: by name, and from version 10 on by id."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.model.errors import Refusal, UnknownTopicId, UnknownTopicOrPartition


def resolve_topic(broker: Broker, named: Any) -> Topic | Refusal:
    """The topic that an item of a request names, or the refusal that says why there is none."""
    if not hasattr(named, "topic_id"):
        topic = broker.catalog.topics.get(named.name)
        return topic or UnknownTopicOrPartition(f"there is no topic '{named.name}'")
    if named.topic_id is None:
        return UnknownTopicId("no topic has the null id")
    try:
        return broker.catalog.by_id(named.topic_id)
    except UnknownTopicId as refusal:
        return refusal


def partition_refusal(topic: Topic | Refusal, index: int) -> Refusal | None:
    if isinstance(topic, Refusal):
        return topic
    if not 0 <= index < topic.partitions:
        return UnknownTopicOrPartition(f"topic '{topic.name}' has no partition {index}")
    return None
