"""CreatePartitions: adds partitions to topics."""

from collections import Counter
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog_placement import Assignment
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidReplicaAssignment, InvalidRequest, InvalidTopic, Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    times = Counter(topic.name for topic in request.topics)
    wanted = {topic.name: topic for topic in request.topics}
    results = []
    for name, topic in wanted.items():
        result = {"name": name, "error_code": 0, "error_message": None}
        try:
            if times[name] > 1:
                raise InvalidRequest("the request names this topic more than once")
            assignment = _assignment(broker, topic)
            await broker.catalog.create_partitions(
                name, topic.count, assignment=assignment, validate_only=request.validate_only
            )
        except Refusal as refusal:
            result["error_code"] = code_of(refusal)
            result["error_message"] = str(refusal)
        results.append(result)
    return {"results": results}


def _assignment(broker: Broker, wanted: Any) -> Assignment | None:
    """Replicas of each new partition, if the client has chosen them."""
    topic = broker.catalog.get(wanted.name)
    if topic.internal:
        # The partition of a group's offsets follows from its name and the number of partitions.
        raise InvalidTopic(f"'{topic.name}' is internal and keeps its partitions")
    if wanted.assignments is None:
        return None
    new = wanted.count - topic.partitions
    if new > 0 and len(wanted.assignments) != new:
        raise InvalidReplicaAssignment(
            f"{new} partitions are to be added, but {len(wanted.assignments)} are assigned"
        )
    return {topic.partitions + at: each.broker_ids for at, each in enumerate(wanted.assignments)}
