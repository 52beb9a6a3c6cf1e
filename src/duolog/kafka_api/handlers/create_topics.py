"""CreateTopics: each topic on its own, so that one refusal does not stop the others."""

from collections import Counter
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.broker.catalog_placement import Assignment
from duolog.kafka_api.client import Client
from duolog.kafka_api.config_entries import topic_entries
from duolog.kafka_api.errors import code_of
from duolog.model.errors import (
    InvalidConfig,
    InvalidReplicaAssignment,
    InvalidRequest,
    InvalidTopic,
    Refusal,
)
from duolog.model.names import is_reserved

_UNSAID = -1
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
            factor = _factor(broker, topic)
            results.append(_created(broker, created, factor, request.validate_only))
    return {"topics": results}


async def _create(broker: Broker, wanted: Any, *, validate_only: bool) -> Topic:
    if is_reserved(wanted.name):
        # Groups keep their offsets in it and rely on the settings with which they create it.
        raise InvalidTopic(f"'{wanted.name}' is the name of an internal topic")
    overrides = {}
    for config in wanted.configs:
        if config.value is None:
            raise InvalidConfig(f"{config.name} needs a value")
        overrides[config.name] = config.value
    partitions, factor, assignment = _layout(broker, wanted)
    return await broker.catalog.create_topic(
        wanted.name,
        partitions,
        overrides,
        replication_factor=factor,
        assignment=assignment,
        validate_only=validate_only,
    )


def _layout(broker: Broker, wanted: Any) -> tuple[int, int | None, Assignment | None]:
    """Number of partitions, replication factor, and the replicas where the client has chosen
    them."""
    if not wanted.assignments:
        count: int = wanted.num_partitions
        if count == _UNSAID:
            count = broker.settings.integer("num.partitions")
        factor: int = wanted.replication_factor
        return count, None if factor == _UNSAID else factor, None
    if (wanted.num_partitions, wanted.replication_factor) != (_UNSAID, _UNSAID):
        raise InvalidRequest(
            "a replica assignment implies the numbers of partitions and replicas; do not"
            " give these, too"
        )
    assignment = {each.partition_index: each.broker_ids for each in wanted.assignments}
    if len(assignment) < len(wanted.assignments):
        raise InvalidReplicaAssignment("a partition is assigned more than once")
    return len(assignment), None, assignment


def _factor(broker: Broker, wanted: Any) -> int:
    """Replication factor of a topic that was just created or validated."""
    if wanted.assignments:
        return len(wanted.assignments[0].broker_ids)
    asked: int = wanted.replication_factor
    return broker.catalog.placement.usual_factor() if asked == _UNSAID else asked


def _created(broker: Broker, topic: Topic, factor: int, validate_only: bool) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": None if validate_only else topic.id,
        "error_code": 0,
        "error_message": None,
        "num_partitions": topic.partitions,
        "replication_factor": factor,
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
