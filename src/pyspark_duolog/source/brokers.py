"""The driver's requests to brokers: topics, their bounds and leaders."""

from collections.abc import Mapping

from duolog.client.cluster import Cluster
from duolog.client.consumer import fetch
from duolog.client.errors import Endpoint, Refused, check
from duolog.client.groups import commit_offsets
from duolog.client.metadata import TopicInfo
from duolog.client.offsets import NO_OFFSET, Bounds, TopicPartition, bounds_of, list_offsets
from duolog.records.iterator import iter_batches
from duolog.wire.kafka.apis import ApiKey
from pyspark_duolog.asking import Asking
from pyspark_duolog.errors import place
from pyspark_duolog.source.options import SourceOptions
from pyspark_duolog.source.planning import Range, Seen, TopicState, only

SAMPLE_BYTES = 64 * 1024
"""Bytes fetched from each partition to estimate the size of its next records."""

_NO_EPOCH = -1
_ABSENT = "UNKNOWN_TOPIC_OR_PARTITION"


class Brokers(Asking):
    """Requests of a source."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options.bootstrap_servers, options.broker_timeout_ms)
        self._options = options

    def see(self) -> Seen:
        """The subscribed topics that exist, with their bounds."""
        return self.ask(lambda cluster: _see(cluster, self._options))

    def offsets_at(self, seen: Seen, timestamp_ms: int) -> dict[TopicPartition, int]:
        """For each partition, its first record of this time or later, or its end."""
        wanted = {
            (name, partition): timestamp_ms
            for name, topic in seen.items()
            for partition in topic.partitions
        }
        found = self.ask(lambda cluster: list_offsets(cluster, wanted))
        return {
            (name, partition): seen[name].partitions[partition].end_offset
            if offset == NO_OFFSET
            else offset
            for (name, partition), offset in found.items()
        }

    def bytes_per_offset(
        self, offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, float]:
        """Average stored size of the records at these offsets."""
        return self.ask(lambda cluster: _sample(cluster, offsets))

    def leader(self, wanted: Range) -> Endpoint | None:
        """Leader of the partition; None if the topic was deleted or recreated."""
        return self.ask(lambda cluster: _leader(cluster, wanted))

    def bounds(self, wanted: Range) -> Bounds:
        at = (wanted.topic, wanted.partition)
        return self.ask(lambda cluster: bounds_of(cluster, [at]))[at]

    def epoch_end(self, wanted: Range, epoch: int) -> int:
        """End offset of the epoch in the leader's log; -1 if it has no such epoch."""
        return self.ask(lambda cluster: _epoch_end(cluster, wanted, epoch))

    def commit(self, group: str, offsets: Mapping[TopicPartition, int]) -> None:
        self.ask(lambda cluster: commit_offsets(cluster, group, offsets))


async def _see(cluster: Cluster, options: SourceOptions) -> Seen:
    topics = [each for each in await _subscribed(cluster, options) if each.partitions]
    partitions = [(each.name, part.partition) for each in topics for part in each.partitions]
    # A topic deleted meanwhile is treated as if it had never been seen.
    bounds = await bounds_of(cluster, partitions, missing_ok=True)
    seen = {
        each.name: TopicState(
            str(each.id),
            {
                part.partition: bounds[each.name, part.partition]
                for part in each.partitions
                if (each.name, part.partition) in bounds
            },
        )
        for each in topics
        if (each.name, 0) in bounds
    }
    return seen if options.assign is None else only(seen, options.assign)


async def _subscribed(cluster: Cluster, options: SourceOptions) -> list[TopicInfo]:
    pattern = options.subscribe_pattern
    if pattern is not None:
        every = (await cluster.metadata()).topics.values()
        return [each for each in every if not each.is_internal and pattern.fullmatch(each.name)]
    found = []
    for name in options.subscribe or tuple(options.assign or ()):
        try:
            found.append((await cluster.metadata([name])).topics[name])
        except Refused as refusal:
            if refusal.name != _ABSENT:
                raise
    return found


async def _leader(cluster: Cluster, wanted: Range) -> Endpoint | None:
    try:
        described = await cluster.metadata([wanted.topic])
    except Refused as refusal:
        if refusal.name != _ABSENT:
            raise
        return None
    if str(described.topics[wanted.topic].id) != wanted.topic_id:
        return None
    leader = await cluster.leader(wanted.topic, wanted.partition)
    if leader not in described.brokers:
        raise Refused("LEADER_NOT_AVAILABLE", f"node {leader}", "its address is unknown")
    return described.brokers[leader]


async def _epoch_end(cluster: Cluster, wanted: Range, epoch: int) -> int:
    asked = {
        "partition": wanted.partition,
        "current_leader_epoch": _NO_EPOCH,
        "leader_epoch": epoch,
    }
    fields = {"replica_id": -1, "topics": [{"topic": wanted.topic, "partitions": [asked]}]}
    leader = await cluster.leader(wanted.topic, wanted.partition)
    response = await cluster.call(ApiKey.OFFSET_FOR_LEADER_EPOCH, fields, node=leader)
    ((answered,),) = (topic.partitions for topic in response.topics)
    check(answered.error_code, place(wanted.topic, wanted.partition))
    end_offset: int = answered.end_offset
    return end_offset if answered.leader_epoch == epoch else _NO_EPOCH


async def _sample(
    cluster: Cluster, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, float]:
    sizes = {}
    for (topic, partition), offset in offsets.items():
        leader = await cluster.leader(topic, partition)
        (fetched,) = await fetch(
            cluster, leader, topic, {partition: offset}, wait_ms=0, partition_bytes_max=SAMPLE_BYTES
        )
        headers = [header for header, _ in iter_batches(fetched.batches)]
        count = headers[-1].next_offset - headers[0].base_offset if headers else 0
        # A partition that has only gaps left needs no limit.
        sizes[topic, partition] = len(fetched.batches) / count if count else 0.0
    return sizes
