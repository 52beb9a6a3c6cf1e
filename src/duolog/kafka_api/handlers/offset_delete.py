"""OffsetDelete: deletes a group's offsets for topics that it no longer reads."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.ledger import TopicPartition
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.group_topics import partition_refusal, resolve_topic
from duolog.model.errors import Refusal


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    refused: dict[TopicPartition, Refusal] = {}
    named: list[TopicPartition] = []
    for topic in request.topics:
        found = resolve_topic(broker, topic)
        for partition in topic.partitions:
            at = TopicPartition(topic.name, partition.partition_index)
            refusal = partition_refusal(found, at.partition)
            if refusal is None:
                named.append(at)
            else:
                refused[at] = refusal
    try:
        outcome = await broker.groups.delete_offsets(request.group_id, named)
    except Refusal as refusal:
        return {"error_code": code_of(refusal)}
    refused.update(outcome.refused)
    codes = {at: code_of(refusal) for at, refusal in refused.items()}
    return {
        "error_code": 0,
        "topics": [
            {
                "name": topic.name,
                "partitions": [
                    {
                        "partition_index": each.partition_index,
                        "error_code": codes.get(
                            TopicPartition(topic.name, each.partition_index), 0
                        ),
                    }
                    for each in topic.partitions
                ],
            }
            for topic in request.topics
        ],
    }
