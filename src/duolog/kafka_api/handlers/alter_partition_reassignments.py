"""AlterPartitionReassignments: moves partitions to other brokers, or cancels such moves.

Answered once the request is recorded; ListPartitionReassignments shows the progress.
"""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidReplicationFactor, Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    keeps_factor = not getattr(request, "allow_replication_factor_change", True)
    responses = [
        {
            "name": topic.name,
            "partitions": [
                await _alter(broker, topic.name, partition, keeps_factor)
                for partition in topic.partitions
            ],
        }
        for topic in request.topics
    ]
    return {
        "error_code": 0,
        "error_message": None,
        "allow_replication_factor_change": not keeps_factor,
        "responses": responses,
    }


async def _alter(broker: Broker, topic: str, wanted: Any, keeps_factor: bool) -> dict[str, Any]:
    index, replicas = wanted.partition_index, wanted.replicas
    result = {"partition_index": index, "error_code": 0, "error_message": None}
    try:
        if replicas is None:
            await broker.requests.cancel_reassignment(topic, index)
        else:
            if keeps_factor:
                _check_factor(broker, topic, index, len(replicas))
            await broker.requests.request_reassignment(topic, index, replicas)
    except Refusal as refusal:
        result["error_code"] = code_of(refusal)
        result["error_message"] = str(refusal)
    return result


def _check_factor(broker: Broker, topic: str, index: int, wanted: int) -> None:
    state = broker.catalog.partition_state(broker.catalog.get(topic), index)
    present = len(state.replicas) - len(state.removing)
    if wanted != present:
        raise InvalidReplicationFactor(
            f"partition {index} of '{topic}' has {present} replicas; {wanted} would change that"
        )
