"""DeleteRecords: advances a partition's start offset, so that older segments can be removed."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.model.errors import InvalidTopic, OffsetOutOfRange, PolicyViolation, Refusal

_HIGH_WATERMARK = -1
_UNKNOWN = -1


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    topics = []
    for topic in request.topics:
        partitions = []
        for asked in topic.partitions:
            error_code, low_watermark = 0, _UNKNOWN
            try:
                low_watermark = await _delete(
                    broker, topic.name, asked.partition_index, asked.offset
                )
            except Refusal as refusal:
                error_code = code_of(refusal)
            partitions.append(
                {
                    "partition_index": asked.partition_index,
                    "low_watermark": low_watermark,
                    "error_code": error_code,
                }
            )
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


async def _delete(broker: Broker, name: str, index: int, offset: int) -> int:
    partition = broker.led_partition(name, index)
    if partition.topic.internal:
        raise InvalidTopic(f"'{name}' is internal and keeps its records")
    if not partition.topic.config.cleanup_delete:
        raise PolicyViolation(f"the cleanup.policy of '{name}' does not contain delete")
    if offset == _HIGH_WATERMARK:
        offset = partition.high_watermark
    if not 0 <= offset <= partition.high_watermark:
        raise OffsetOutOfRange(
            f"offset {offset} is not between 0 and the high watermark {partition.high_watermark}"
        )
    partition.advance_start(offset)
    return partition.log.start_offset
