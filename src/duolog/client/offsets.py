"""The ListOffsets API: start and end offsets of partitions, and offsets by timestamp."""

import asyncio
from collections.abc import Collection, Mapping
from itertools import islice
from typing import NamedTuple

from duolog.client.cluster import Cluster
from duolog.client.errors import Refused, check
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.special_offsets import EARLIEST, LATEST

TopicPartition = tuple[str, int]

NO_OFFSET = -1
PARTITIONS_PER_REQUEST_MAX = 10_000

_CONSUMER = -1
_ABSENT = "UNKNOWN_TOPIC_OR_PARTITION"


class Bounds(NamedTuple):
    start_offset: int
    end_offset: int
    """High watermark: readers see the records below it."""

    @property
    def offset_count(self) -> int:
        """Number of offsets; more than the records if compaction removed some."""
        return self.end_offset - self.start_offset


async def list_offsets(
    cluster: Cluster, wanted: Mapping[TopicPartition, int], *, missing_ok: bool = False
) -> dict[TopicPartition, int]:
    """Maps each partition to the first offset at or after a time in ms, or EARLIEST or LATEST.

    NO_OFFSET: the partition has no record that young. A partition that does not exist is left
    out if `missing_ok`, and refused otherwise.
    """

    async def attempt() -> dict[TopicPartition, int]:
        by_leader: dict[int, list[TopicPartition]] = {}
        for at in wanted:
            try:
                by_leader.setdefault(await cluster.leader(*at), []).append(at)
            except Refused as refusal:
                if not missing_ok or refusal.name != _ABSENT:
                    raise
        found: dict[TopicPartition, int] = {}
        for leader, partitions in by_leader.items():
            left = iter(partitions)
            while some := list(islice(left, PARTITIONS_PER_REQUEST_MAX)):
                asked = {at: wanted[at] for at in some}
                found |= await _ask(cluster, leader, asked, missing_ok)
        return found

    return await cluster.retry(attempt)


async def bounds_of(
    cluster: Cluster, partitions: Collection[TopicPartition], *, missing_ok: bool = False
) -> dict[TopicPartition, Bounds]:
    start_offsets, end_offsets = await asyncio.gather(
        list_offsets(cluster, dict.fromkeys(partitions, EARLIEST), missing_ok=missing_ok),
        list_offsets(cluster, dict.fromkeys(partitions, LATEST), missing_ok=missing_ok),
    )
    return {
        at: Bounds(start_offsets[at], end_offsets[at])
        for at in partitions
        if at in start_offsets and at in end_offsets
    }


async def _ask(
    cluster: Cluster, leader: int, wanted: Mapping[TopicPartition, int], missing_ok: bool
) -> dict[TopicPartition, int]:
    partitions: dict[str, list[dict[str, int]]] = {}
    for (topic, partition), timestamp in wanted.items():
        partitions.setdefault(topic, []).append(
            {"partition_index": partition, "current_leader_epoch": -1, "timestamp": timestamp}
        )
    fields = {
        "replica_id": _CONSUMER,
        "isolation_level": 0,
        "topics": [{"name": topic, "partitions": each} for topic, each in partitions.items()],
    }
    response = await cluster.call(ApiKey.LIST_OFFSETS, fields, node=leader)
    found: dict[TopicPartition, int] = {}
    for topic in response.topics:
        for each in topic.partitions:
            try:
                subject = f"partition {each.partition_index} of topic '{topic.name}'"
                check(each.error_code, subject)
            except Refused as refusal:
                if not missing_ok or refusal.name != _ABSENT:
                    raise
                continue
            found[topic.name, each.partition_index] = each.offset
    return found
