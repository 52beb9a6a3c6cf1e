"""OffsetForLeaderEpoch: the end offset of an epoch, by which a reader detects truncation."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.read_places import check_consumer
from duolog.model.errors import Refusal

_UNKNOWN = -1


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    return {
        "topics": [
            {
                "topic": topic.topic,
                "partitions": [
                    _answer(broker, request, topic.topic, asked) for asked in topic.partitions
                ],
            }
            for topic in request.topics
        ]
    }


def _answer(broker: Broker, request: Any, topic: str, asked: Any) -> dict[str, Any]:
    error_code, epoch, end_offset = 0, _UNKNOWN, _UNKNOWN
    try:
        check_consumer(request)
        partition = broker.led_partition(topic, asked.partition)
        partition.check_epoch(asked.current_leader_epoch)
        epoch, end_offset = partition.log.end_offset_for_epoch(asked.leader_epoch)
    except Refusal as refusal:
        error_code = code_of(refusal)
    return {
        "error_code": error_code,
        "partition": asked.partition,
        "leader_epoch": epoch,
        "end_offset": end_offset,
    }
