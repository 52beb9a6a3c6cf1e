"""Produces one sealed batch to one partition, without copying it into the request."""

from typing import Any

from typing_extensions import Buffer

from duolog.client.cluster import Cluster
from duolog.client.connection import Part
from duolog.client.errors import check
from duolog.client.versions import VERSIONS
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.messages import encode_request
from duolog.wire.kafka.primitives import NO_TAGS, uvarint

_ALL_IN_SYNC = -1
_TIMEOUT_MS = 30_000
_TAGS_AFTER_RECORDS = NO_TAGS * 3
"""Empty tagged fields of the partition, the topic and the request, which end the frame."""
_WITHOUT_RECORDS = uvarint(1) + _TAGS_AFTER_RECORDS


async def produce(cluster: Cluster, topic: str, partition: int, batch: Buffer) -> int:
    """Produces with acks=all and returns the offset of the first record."""
    leader = await cluster.leader(topic, partition)
    body = request_parts(topic, partition, memoryview(batch))
    response = await cluster.call_encoded(ApiKey.PRODUCE, body, node=leader)
    ((result,),) = (answered.partition_responses for answered in response.responses)
    check(result.error_code, f"partition {partition} of topic '{topic}'", result.error_message)
    base_offset: int = result.base_offset
    return base_offset


def request_parts(topic: str, partition: int, batch: memoryview) -> list[Part]:
    """Parts of a Produce request: the bytes before the records, the records, those after."""
    fields: dict[str, Any] = {
        "transactional_id": None,
        "acks": _ALL_IN_SYNC,
        "timeout": _TIMEOUT_MS,
        "topic_data": [{"name": topic, "partition_data": [{"index": partition, "records": b""}]}],
    }
    empty = encode_request(ApiKey.PRODUCE, VERSIONS[ApiKey.PRODUCE], fields)
    assert empty.endswith(_WITHOUT_RECORDS)
    before = empty.removesuffix(_WITHOUT_RECORDS) + uvarint(len(batch) + 1)
    return [before, batch, _TAGS_AFTER_RECORDS]
