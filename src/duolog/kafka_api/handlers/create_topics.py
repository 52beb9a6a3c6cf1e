"""CreateTopics: each topic on its own, so that one refusal does not stop the others."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.kafka_api.client import Client
from duolog.kafka_api.config_entries import topic_entries
from duolog.kafka_api.errors import code_of
from duolog.model.errors import (
    InvalidConfig,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    Refusal,
)
from duolog.model.names import is_reserved

_UNSAID = -1
_REPLICATION_FACTOR = 1
_CONFIG_FIELDS = ("name", "value", "read_only", "config_source", "is_sensitive")


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    times = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    results = []
    for name, topic in wanted.items():
        try:
            if times[name] > 1:
                raise InvalidRequest("the request names this topic more than once")
            created = await _create(broker, topic, validate_only=request.validate_only)
        except Refusal as refusal:
            results.append(_refused(name, refusal))
        else:
            results.append(_created(broker, created, validate_only=request.validate_only))
    return {"topics": results}


async def _create(broker: Broker, wanted: Any, *, validate_only: bool) -> Topic:
    if is_reserved(wanted.name):
        # Groups keep their offsets in it and rely on the settings that they make it with.
        raise InvalidTopic(f"'{wanted.name}' is the name of an internal topic")
    overrides = {}
    for config in wanted.configs:
        if config.value is None:
            raise InvalidConfig(f"{config.name} needs a value")
        overrides[config.name] = config.value
    return await broker.catalog.create_topic(
        wanted.name, _partition_count(broker, wanted), overrides, validate_only=validate_only
    )


def _partition_count(broker: Broker, wanted: Any) -> int:
    if wanted.assignments:
        if (wanted.num_partitions, wanted.replication_factor) != (_UNSAID, _UNSAID):
            raise InvalidRequest(
                "a replica assignment says how many partitions and replicas there are; do not"
                " give their numbers, too"
            )
        _check_assignments(wanted.assignments, broker.node_id)
        return len(wanted.assignments)
    if wanted.replication_factor not in (_UNSAID, _REPLICATION_FACTOR):
        raise InvalidReplicationFactor(
            f"{wanted.replication_factor} replicas cannot be had: there is 1 broker"
        )
    if wanted.num_partitions == _UNSAID:
        return broker.settings.integer("num.partitions")
    count: int = wanted.num_partitions
    return count


def _check_assignments(assignments: Sequence[Any], node_id: int) -> None:
    indexes = sorted(assignment.partition_index for assignment in assignments)
    if indexes != list(range(len(indexes))):
        raise InvalidReplicaAssignment("partitions must be numbered from 0 without gaps")
    for assignment in assignments:
        if assignment.broker_ids != (node_id,):
            raise InvalidReplicaAssignment(
                f"partition {assignment.partition_index} can be on broker {node_id} only"
            )


def _created(broker: Broker, topic: Topic, *, validate_only: bool) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": None if validate_only else topic.id,
        "error_code": 0,
        "error_message": None,
        "num_partitions": topic.partitions,
        "replication_factor": _REPLICATION_FACTOR,
        "configs": [
            {field: entry[field] for field in _CONFIG_FIELDS}
            for entry in topic_entries(topic, broker.settings)
        ],
    }


def _refused(name: str, refusal: Refusal) -> dict[str, Any]:
    return {
        "name": name,
        "topic_id": None,
        "error_code": code_of(refusal),
        "error_message": str(refusal),
        "configs": [],
    }
