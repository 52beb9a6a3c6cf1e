"""DeleteTopics: by name, or from version 6 on also by id."""

import uuid
from collections import Counter
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidRequest, InvalidTopic, Refusal, TopicDeletionDisabled

FIRST_VERSION_WITH_DELETION_DISABLED = 3

Target = tuple[str | None, uuid.UUID | None]


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    targets: list[Target] = (
        [(target.name, target.topic_id) for target in request.topics]
        if hasattr(request, "topics")
        else [(name, None) for name in request.topic_names]
    )
    times = Counter(targets)
    results = []
    for target in times:
        name, topic_id = target
        result = {
            "name": name,
            "topic_id": topic_id,
            "error_code": 0,
            "error_message": None,
        }
        try:
            if times[target] > 1:
                raise InvalidRequest("the request names this topic more than once")
            _check_enabled(broker, client.api_version)
            topic = _find(broker, name, topic_id)
            result["name"], result["topic_id"] = topic.name, topic.id
            await broker.catalog.delete_topic(topic.name)
        except Refusal as refusal:
            result["error_code"] = code_of(refusal)
            result["error_message"] = str(refusal)
        results.append(result)
    return {"responses": results}


def _check_enabled(broker: Broker, version: int) -> None:
    if not broker.settings.flag("delete.topic.enable"):
        knows_why = version >= FIRST_VERSION_WITH_DELETION_DISABLED
        refused = TopicDeletionDisabled if knows_why else InvalidRequest
        raise refused("delete.topic.enable is false on this node")


def _find(broker: Broker, name: str | None, topic_id: uuid.UUID | None) -> Topic:
    if name is not None and topic_id is not None:
        raise InvalidRequest("give the topic's name or its id, not both")
    if name is not None:
        topic = broker.catalog.get(name)
    elif topic_id is not None:
        topic = broker.catalog.by_id(topic_id)
    else:
        raise InvalidRequest("give the topic's name or its id")
    if topic.internal:
        raise InvalidTopic(f"'{topic.name}' is internal and cannot be deleted")
    return topic
