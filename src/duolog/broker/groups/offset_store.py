"""Durable storage of groups: the internal topic of offsets and group metadata."""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from duolog.broker.cluster_nodes import SoleNode
from duolog.broker.groups.log_partition import LogPartition
from duolog.broker.groups.prefix import StoredPartition
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import NotLeader, TopicExists
from duolog.model.names import OFFSETS_TOPIC
from duolog.records.builder import build_batch
from duolog.records.record import Record

if TYPE_CHECKING:
    from duolog.broker.broker import Broker
    from duolog.broker.partition import Partition

KeyValue = tuple[bytes, bytes | None]
"""A record of the offsets topic; a null value is a tombstone."""

APPEND_BYTES_MAX = 1 << 20
"""Size at which a batch is closed. A larger record gets a batch of its own."""
SEGMENT_BYTES = 100 << 20
"""Segment size of the topic; small, so that compaction and the next start are quick."""
BATCH_BYTES_OVERHEAD = 1 << 10
REPLICAS_IN_SYNC_MIN = 2


class Tenure(NamedTuple):
    """This node's leadership of one partition of the offsets topic, in one epoch."""

    partition: int
    epoch: int


class OffsetStore(Protocol):
    @property
    def node_id(self) -> int:
        """This node."""
        ...

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

    def leads_for_another(self, partition: int) -> bool:
        """True if this node leads it in the place of the preferred leader, which is back."""
        ...

    async def until_readable(self, tenure: Tenure) -> int:
        """Waits until all that the partition holds is committed; returns the end of that.

        Raises NotLeader if the tenure ends.
        """
        ...

    def stored(self, partition: int) -> StoredPartition:
        """This node's copy of the partition; raises NotLeader if it holds none."""
        ...

    def held(self) -> list[StoredPartition]:
        """All of this node's copies."""
        ...

    async def append(self, tenure: Tenure, records: Sequence[KeyValue]) -> None:
        """Appends records as one batch (see `batches_of`); returns once they are committed. One
        call at a time per partition.

        After NotLeader the outcome is unknown.
        """
        ...


class TopicOffsetStore:
    def __init__(self, broker: "Broker", settings: GroupSettings) -> None:
        self._broker = broker
        self._settings = settings

    @property
    def node_id(self) -> int:
        return self._broker.node_id

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

    def leads_for_another(self, partition: int) -> bool:
        led = self._broker.routes.get((OFFSETS_TOPIC, partition))
        if led is None or led.entry is None or not led.is_leader:
            return False
        preferred = led.entry.state.replicas[0]
        return preferred != self._broker.node_id and preferred in led.in_sync

    async def until_readable(self, tenure: Tenure) -> int:
        partition = await self._up_to_date(tenure)
        end_offset = partition.log.end_offset
        await partition.until_committed(end_offset)
        return end_offset

    def stored(self, partition: int) -> StoredPartition:
        held = self._broker.routes.get((OFFSETS_TOPIC, partition))
        if held is None:
            raise NotLeader("this node holds no copy of the group's partition")
        return self._stored(held)

    def held(self) -> list[StoredPartition]:
        routes = self._broker.routes
        found = (routes.get((OFFSETS_TOPIC, index)) for index in range(self.partitions))
        return [self._stored(partition) for partition in found if partition is not None]

    def _stored(self, partition: "Partition") -> StoredPartition:
        bytes_max = self._broker.settings.integer("decompressed.bytes.max")
        return LogPartition(partition, self._broker.node_id, self._broker.disk, bytes_max)

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

    async def append(self, tenure: Tenure, records: Sequence[KeyValue]) -> None:
        now_ms = self._broker.clock.now_ms()
        partition = self._check(tenure)
        partition.check_in_sync()
        await partition.append(
            build_batch([Record(key, value, timestamp=now_ms) for key, value in records])
        )


def batches_of(records: Iterable[KeyValue]) -> Iterator[list[KeyValue]]:
    """Divides records into what fits one batch each."""
    batch: list[KeyValue] = []
    size = 0
    for record in records:
        batch.append(record)
        size += len(record[0]) + len(record[1] or b"")
        if size >= APPEND_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
