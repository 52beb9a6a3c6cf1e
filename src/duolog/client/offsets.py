"""Where partitions start and end, and what came first from a time on."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from duolog.client.cluster import Cluster
from duolog.client.errors import check
from duolog.wire.kafka.apis import ApiKey

LATEST = -1
EARLIEST = -2
NO_OFFSET = -1

_CONSUMER = -1


class Bounds(NamedTuple):
    start_offset: int
    end_offset: int
    """The next offset that will be written, as far as readers may go."""

    @property
    def offset_count(self) -> int:
        """As many as records, unless compaction took some."""
        return self.end_offset - self.start_offset


async def list_offsets(cluster: Cluster, topic: str, wanted: Mapping[int, int]) -> dict[int, int]:
    """Per partition, the first offset at or after a time in ms, or EARLIEST or LATEST.

    NO_OFFSET where nothing is that young.
    """

    async def attempt() -> dict[int, int]:
        by_leader: dict[int, list[int]] = {}
        for partition in wanted:
            by_leader.setdefault(await cluster.leader(topic, partition), []).append(partition)
        found = await asyncio.gather(
            *(
                _ask(cluster, leader, topic, {each: wanted[each] for each in partitions})
                for leader, partitions in by_leader.items()
            )
        )
        return {partition: offset for each in found for partition, offset in each.items()}

    return await cluster.retry(attempt)


async def bounds_of(cluster: Cluster, topic: str, partitions: Iterable[int]) -> dict[int, Bounds]:
    indexes = list(partitions)
    start_offsets, end_offsets = await asyncio.gather(
        list_offsets(cluster, topic, dict.fromkeys(indexes, EARLIEST)),
        list_offsets(cluster, topic, dict.fromkeys(indexes, LATEST)),
    )
    return {index: Bounds(start_offsets[index], end_offsets[index]) for index in indexes}


async def _ask(
    cluster: Cluster, leader: int, topic: str, wanted: Mapping[int, int]
) -> dict[int, int]:
    partitions = [
        {"partition_index": partition, "current_leader_epoch": -1, "timestamp": timestamp}
        for partition, timestamp in wanted.items()
    ]
    fields = {
        "replica_id": _CONSUMER,
        "isolation_level": 0,
        "topics": [{"name": topic, "partitions": partitions}],
    }
    response = await cluster.call(ApiKey.LIST_OFFSETS, fields, node=leader)
    found = {}
    for answered in response.topics:
        for each in answered.partitions:
            check(each.error_code, f"partition {each.partition_index} of topic '{topic}'")
            found[each.partition_index] = each.offset
    return found
