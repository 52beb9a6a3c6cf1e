"""OffsetCommit: stores a group's offsets. Answered once they are durable."""

from typing import Any

from duolog.broker.broker import Broker
from duolog.core.groups.ledger import NO_LEADER_EPOCH, TopicPartition
from duolog.core.groups.messages import CommitRequest, MemberIdentity, OffsetToCommit
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.group_topics import partition_refusal, resolve_topic
from duolog.model.errors import GroupIdNotFound, IllegalGeneration, Refusal
from duolog.wire.kafka.messages import to_ms

DEFAULT_RETENTION_MS = -1
FIRST_VERSION_WITH_NOT_FOUND = 9


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    codes: dict[tuple[int, int], int] = {}
    offsets: dict[TopicPartition, OffsetToCommit] = {}
    places: dict[tuple[int, int], TopicPartition] = {}
    for at, topic in enumerate(request.topics):
        found = resolve_topic(broker, topic)
        for partition in topic.partitions:
            index = partition.partition_index
            refusal = partition_refusal(found, index)
            if refusal is not None:
                codes[at, index] = code_of(refusal)
                continue
            assert not isinstance(found, Refusal)
            place = places[at, index] = TopicPartition(found.name, index)
            offsets[place] = OffsetToCommit(
                partition.committed_offset,
                partition.committed_metadata or "",
                getattr(partition, "committed_leader_epoch", NO_LEADER_EPOCH),
            )
    codes |= await _commit(broker, request, client.api_version, offsets, places)
    return {
        "topics": [
            {
                "name": getattr(topic, "name", ""),
                "topic_id": getattr(topic, "topic_id", None),
                "partitions": [
                    {
                        "partition_index": each.partition_index,
                        "error_code": codes[at, each.partition_index],
                    }
                    for each in topic.partitions
                ],
            }
            for at, topic in enumerate(request.topics)
        ]
    }


async def _commit(
    broker: Broker,
    request: Any,
    version: int,
    offsets: dict[TopicPartition, OffsetToCommit],
    places: dict[tuple[int, int], TopicPartition],
) -> dict[tuple[int, int], int]:
    retention_ms = to_ms(getattr(request, "retention_time", DEFAULT_RETENTION_MS))
    commit = CommitRequest(
        identity=MemberIdentity(request.member_id, getattr(request, "group_instance_id", None)),
        generation=request.generation_id_or_member_epoch,
        offsets=offsets,
        retention_ms=None if retention_ms == DEFAULT_RETENTION_MS else retention_ms,
    )
    try:
        outcome = await broker.groups.commit(request.group_id, commit)
    except GroupIdNotFound as refusal:
        known = refusal if version >= FIRST_VERSION_WITH_NOT_FOUND else IllegalGeneration()
        return dict.fromkeys(places, code_of(known))
    except Refusal as refusal:
        return dict.fromkeys(places, code_of(refusal))
    refused = {place: code_of(refusal) for place, refusal in outcome.refused.items()}
    return {slot: refused.get(place, 0) for slot, place in places.items()}
