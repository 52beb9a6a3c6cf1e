"""Durable storage of groups: the internal topic of offsets and group metadata."""

import contextlib
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from duolog.broker.cluster_nodes import SoleNode
from duolog.broker.damage import past_damage
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import CorruptBatch, NotLeader, TopicExists
from duolog.model.names import OFFSETS_TOPIC
from duolog.observe.logs import get_logger
from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.partition import Partition
    from duolog.log.log import Log

events = get_logger("groups")

KeyValue = tuple[bytes, bytes | None]
"""A record of the offsets topic; a null value is a tombstone."""

READ_BYTES_MAX = 1 << 20
"""Bytes that are read from the disk at once."""
APPEND_BYTES_MAX = 1 << 20
"""Size at which a batch is closed. A larger record gets a batch of its own."""
SEGMENT_BYTES = 100 << 20
"""Segment size of the topic; small, so that compaction and the next start are quick."""
BATCH_BYTES_OVERHEAD = 1 << 10
REPLICAS_IN_SYNC_MIN = 2


class StoredRecord(NamedTuple):
    partition: int
    key: bytes
    value: bytes | None
    timestamp_ms: int


class Tenure(NamedTuple):
    """This node's leadership of one partition of the offsets topic, in one epoch."""

    partition: int
    epoch: int


class OffsetStore(Protocol):
    @property
    def is_replicated(self) -> bool:
        """True if loading may have to wait for other nodes."""
        ...

    @property
    def exists(self) -> bool: ...

    async def create(self) -> None:
        """Creates the store, unless it exists or is created by another node meanwhile."""
        ...

    @property
    def partitions(self) -> int:
        """Partition count, fixed once the store exists."""
        ...

    def leads(self, tenure: Tenure) -> bool:
        """True if the tenure lasts, as far as this node knows."""
        ...

    async def until_readable(self, tenure: Tenure) -> int:
        """Waits until all that the partition holds is committed; returns the end of that.

        Raises NotLeader if the tenure ends.
        """
        ...

    def read(self, tenure: Tenure, end_offset: int) -> Iterator[StoredRecord]:
        """Yields the records below the offset in append order. Raises NotLeader if the tenure has
        ended before the first."""
        ...

    async def append(self, tenure: Tenure, records: Sequence[KeyValue]) -> None:
        """Appends records; returns once they are committed. One call at a time per partition.

        After NotLeader the outcome is unknown.
        """
        ...


class TopicOffsetStore:
    def __init__(self, broker: "Broker", settings: GroupSettings) -> None:
        self._broker = broker
        self._settings = settings

    @property
    def is_replicated(self) -> bool:
        return not isinstance(self._broker.catalog.nodes, SoleNode)

    @property
    def exists(self) -> bool:
        return OFFSETS_TOPIC in self._broker.catalog.topics

    async def create(self) -> None:
        record_bytes_max = 2 * self._settings.group_bytes_max
        overrides = {
            "cleanup.policy": "compact",
            # Set here, whatever the default, so that acknowledged commits are on two disks if
            # there are several replicas.
            "min.insync.replicas": str(REPLICAS_IN_SYNC_MIN),
            "segment.bytes": str(SEGMENT_BYTES),
            "max.message.bytes": str(record_bytes_max + APPEND_BYTES_MAX + BATCH_BYTES_OVERHEAD),
        }
        with contextlib.suppress(TopicExists):
            await self._broker.catalog.create_topic(OFFSETS_TOPIC, self.partitions, overrides)

    @property
    def partitions(self) -> int:
        topic = self._broker.catalog.topics.get(OFFSETS_TOPIC)
        return self._settings.offsets_partitions if topic is None else topic.partitions

    def leads(self, tenure: Tenure) -> bool:
        partition = self._broker.routes.get((OFFSETS_TOPIC, tenure.partition))
        return (
            partition is not None and partition.is_leader and partition.leader_epoch == tenure.epoch
        )

    async def until_readable(self, tenure: Tenure) -> int:
        partition = await self._up_to_date(tenure)
        end_offset = partition.log.end_offset
        await partition.until_committed(end_offset)
        return end_offset

    def read(self, tenure: Tenure, end_offset: int) -> Iterator[StoredRecord]:
        log = self._check(tenure).log
        offset = log.start_offset
        while offset < end_offset:
            offset = yield from self._read(log, tenure.partition, offset)

    async def _up_to_date(self, tenure: Tenure) -> "Partition":
        """Returns the partition once this node's catalog is as recent as its election: offsets of
        a topic that the catalog does not show yet would be deleted."""
        catalog = self._broker.catalog
        topic = self._check(tenure).topic
        await catalog.follower.until(catalog.partition_entry(topic, tenure.partition).mod_revision)
        return self._check(tenure)

    def _check(self, tenure: Tenure) -> "Partition":
        if not self.leads(tenure):
            raise NotLeader("this node does not lead the group's partition")
        return self._broker.partition(OFFSETS_TOPIC, tenure.partition)

    def _read(self, log: "Log", index: int, offset: int) -> Generator[StoredRecord, None, int]:
        """Reads up to READ_BYTES_MAX of a partition; returns the next offset to read."""
        bytes_max = self._broker.settings.integer("decompressed.bytes.max")
        reached = offset
        try:
            for batch in log.batches(offset, READ_BYTES_MAX):
                for record in iter_records(batch, decompressed_bytes_max=bytes_max):
                    assert record.key is not None, "a compacted topic takes no other"
                    yield StoredRecord(index, record.key, record.value, record.timestamp)
                reached = read_header(batch).next_offset
        except CorruptBatch as error:
            # Skipped rather than fatal: without these records a group returns to an older commit
            # and reads some messages twice; without a coordinator it would read none.
            past = past_damage(log, reached)
            events.error(
                "damaged group records skipped, groups fall back to older commits",
                partition=index,
                first_offset=reached,
                next_offset=past,
                error=str(error),
            )
            return past
        return reached if reached > offset else log.end_offset

    async def append(self, tenure: Tenure, records: Sequence[KeyValue]) -> None:
        now_ms = self._broker.clock.now_ms()
        for chunk in _chunks(records):
            partition = self._check(tenure)
            partition.check_in_sync()
            await partition.append(
                build_batch([Record(key, value, timestamp=now_ms) for key, value in chunk])
            )


def _chunks(records: Sequence[KeyValue]) -> Iterator[list[KeyValue]]:
    chunk: list[KeyValue] = []
    size = 0
    for record in records:
        chunk.append(record)
        size += len(record[0]) + len(record[1] or b"")
        if size >= APPEND_BYTES_MAX:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
