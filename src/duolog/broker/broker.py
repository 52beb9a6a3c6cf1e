"""The partitions that a node holds, and the parts that the APIs need to serve them."""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from operator import attrgetter

from duolog.broker.admission import Admission, Budget
from duolog.broker.catalog import Catalog, Topic
from duolog.broker.cluster_nodes import SoleNode
from duolog.broker.controller.requests import Requests
from duolog.broker.flusher import Flusher
from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.liveness import Liveness
from duolog.broker.partition import Partition
from duolog.broker.producer_ids import ProducerIds
from duolog.broker.reserve import Reserve
from duolog.broker.roles import LeadershipListener, Roles
from duolog.broker.storage import Storage
from duolog.broker.usage.meter import NO_METER, NoMeter
from duolog.config.settings import Settings
from duolog.model.errors import (
    DiskFull,
    LeadershipLost,
    NotLeader,
    PolicyViolation,
    Refusal,
    RequestTimedOut,
    StorageFailed,
    TopicExists,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from duolog.model.names import uses_reserve
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.observe.logs import get_logger
from duolog.observe.metrics import Metrics
from duolog.ports.clock import Clock
from duolog.ports.disk import Disk, is_no_room

PARTITIONS_MAX = 100_000
FREE_BYTES_MIN = 1024 * 1024
"""Free disk space below which no topic is created: its files might not fit."""

_bytes_in = attrgetter("bytes_in")
_bytes_out = attrgetter("bytes_out")

log = get_logger("broker")


class Broker:
    """Owns this node's partitions; opens, changes and removes them as the catalog says."""

    def __init__(
        self,
        *,
        disk: Disk,
        clock: Clock,
        settings: Settings,
        catalog: Catalog,
        producer_ids: ProducerIds,
        metrics: Metrics,
        node_id: int,
        cluster_id: str,
        on_storage_failure: Callable[[OSError], None],
        partitions_max: int = PARTITIONS_MAX,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
        reserve: Reserve | None = None,
    ) -> None:
        self.disk = disk
        self.clock = clock
        self.settings = settings
        self.catalog = catalog
        self.producer_ids = producer_ids
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.rack: str | None = settings.get("node.rack") or None
        self.advertised: tuple[str, int] = ("", 0)
        """Address that clients are told for this node; set once the listener is bound."""
        self.routes: dict[tuple[str | bytes, int], Partition] = {}
        """Partitions by (topic, index), each twice: under the topic's name and its id's bytes."""
        self._partitions: dict[Partition, None] = {}
        """All partitions, each once, for passes over all of them."""
        self._deleted_bytes_in = 0
        self._deleted_bytes_out = 0
        self.admission = Admission(clock)
        """Admits what takes long: opening queues, reading groups."""
        self.reserve = reserve or Reserve(disk, settings.integer("log.reserve.bytes"))
        self.flusher = Flusher(disk, clock, metrics.fsync, self._storage_failed)
        self.storage = Storage(
            disk,
            clock,
            self.flusher,
            decompressed_bytes_max=settings.integer("decompressed.bytes.max"),
            new_id=new_id,
            reserve=self.reserve,
        )
        self.roles = Roles(node_id, lag_ms_max=settings.integer("replica.lag.time.max.ms"))
        self.liveness = Liveness()
        self.groups: GroupCoordinator
        self.meter: NoMeter = NO_METER
        """Meters the use of partitions and queues; set before `start`."""
        self.requests: Requests
        """Operators' requests: elections, reassignments, draining."""
        self._on_storage_failure = on_storage_failure
        self._partitions_max = partitions_max
        self.has_failed = False
        """True once the disk has failed; nothing is written from then on."""
        self.doubted: dict[Partition, int] = {}
        """Partitions → offset from which a follower refused what this node had sent."""
        self._removals: set[asyncio.Future[None]] = set()
        catalog.subscribe(self)
        catalog.check_room = self.check_room

    @property
    def leadership(self) -> list[LeadershipListener]:
        """Listeners called when this node begins or ceases to lead a partition."""
        return self.roles.leadership

    def partition(self, topic: str, index: int) -> Partition:
        """This node's copy of a partition, led here or elsewhere."""
        partition = self.routes.get((topic, index))
        if partition is None:
            raise self.unknown(topic, index)
        return partition

    def led_partition(self, topic: str, index: int) -> Partition:
        """This node's copy of a partition; raises NotLeader unless this node may answer for it."""
        partition = self.partition(topic, index)
        partition.check_leading()
        return partition

    def unknown(self, topic: str | bytes, index: int) -> Refusal:
        """The refusal of a partition without a route: not the leader, unknown topic or index."""
        known = self._known_topic(topic)
        if known is not None and 0 <= index < known.partitions:
            return NotLeader(f"node {self.node_id} holds no copy of partition {index} of {topic!r}")
        if known is None and isinstance(topic, bytes):
            return UnknownTopicId("no topic has this id")
        return UnknownTopicOrPartition(f"there is no partition {index} of topic {topic!r}")

    def state_of(self, topic: str | bytes, index: int) -> PartitionState:
        """The partition's leader, epoch and replicas, from the catalog."""
        known = self._known_topic(topic)
        if known is None:
            raise self.unknown(topic, index)
        return self.catalog.partition_state(known, index)

    def _known_topic(self, topic: str | bytes) -> Topic | None:
        if isinstance(topic, str):
            return self.catalog.topics.get(topic)
        with contextlib.suppress(UnknownTopicId):
            return self.catalog.by_id(uuid.UUID(bytes=topic))
        return None

    @property
    def bytes_in(self) -> int:
        """Bytes of batches appended since the start, including deleted topics."""
        present: int = sum(map(_bytes_in, self._partitions))
        return self._deleted_bytes_in + present

    @property
    def bytes_out(self) -> int:
        present: int = sum(map(_bytes_out, self._partitions))
        return self._deleted_bytes_out + present

    def check_room(self, topic: str, partitions: int) -> None:
        """Raises PolicyViolation if this node has no room for so many more of a topic's partitions,
        and DiskFull if its disk has none."""
        wanted = self.partition_count + partitions
        if wanted > self._partitions_max:
            raise PolicyViolation(
                f"this node holds at most {self._partitions_max} partitions, as many as it may"
                " open files for"
            )
        if self.reserve.is_full and not uses_reserve(topic):
            raise self.reserve.refusal()
        if self.disk.free_bytes() < FREE_BYTES_MIN and not self.reserve.free():
            raise DiskFull("the disk of this node is full")

    def partitions(self) -> Iterator[Partition]:
        return iter(self._partitions)

    @property
    def partition_count(self) -> int:
        return len(self._partitions)

    async def start(self) -> None:
        """Opens all partitions of the catalog, and finishes removals that a crash interrupted."""
        await self.reserve.begin()
        self.reserve.on_change.append(self._room_changed)
        self.storage.load()
        try:
            await self.catalog.start()
            if isinstance(self.catalog.nodes, SoleNode):
                await self.catalog.remove_orphans()
            for path in self.storage.leftovers(self.partitions()):
                self._remove_tree_later(path)
            await self._make_recovered_durable()
        except BaseException:
            # A full disk: another broker will be made, and this one must not act any more.
            self.reserve.on_change.remove(self._room_changed)
            await self.catalog.stop()
            raise

    async def _make_recovered_durable(self) -> None:
        """Syncs the logs that recovery scanned: their tails may be in the page cache only."""
        for partition in self.partitions():
            if partition.log.recovery.scanned_bytes:
                self.flusher.request(partition)
        await self.flusher.drain()
        if self.flusher.failure is not None:
            raise self.flusher.failure
        await self._write_points()

    async def _write_points(self) -> None:
        """Writes all recovery points; without room for them, the next start scans more."""
        try:
            await self.storage.write_points(self.partitions())
        except OSError as error:
            if not is_no_room(error):
                raise
            if self.reserve.free():
                await self._write_points()

    async def create_topic_if_missing(self, name: str) -> Topic:
        """Gets a topic, or creates it with the default settings on a client's first use."""
        with contextlib.suppress(TopicExists):
            return await self.catalog.create_topic(
                name, self.settings.integer("num.partitions"), {}
            )
        return self.catalog.get(name)

    async def topic_created(self, topic: Topic) -> None:
        await self._open(topic, range(topic.partitions))

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        for index in range(old.partitions):
            partition = self.routes.get((new.name, index))
            if partition is not None:
                partition.configure(new)
        await self._open(new, range(old.partitions, new.partitions))

    async def topic_deleted(self, topic: Topic) -> None:
        held = [self.routes.get((topic.name, index)) for index in range(topic.partitions)]
        await self._drop(
            [partition for partition in held if partition is not None],
            UnknownTopicOrPartition(f"topic '{topic.name}' was deleted"),
        )
        await self.groups.topic_deleted(topic.name)

    async def partition_changed(self, topic: Topic, index: int, entry: PartitionEntry) -> None:
        """Opens, drops, leads or follows the partition, as its new state says."""
        partition = self.routes.get((topic.name, index))
        if self.node_id in entry.state.replicas:
            if partition is None:
                await self._open(topic, range(index, index + 1))
            else:
                self.roles.take(partition, entry)
        elif partition is not None:
            gone = f"node {self.node_id} gave up its copy of '{topic.name}' {index}"
            # LeadershipLost, an unknown outcome: the remaining copies may have the writes that
            # clients wait for.
            await self._drop([partition], LeadershipLost(gone))

    async def _open(self, topic: Topic, indexes: range) -> None:
        """Opens those of the topic's partitions of which this node is a replica."""
        opened = []
        for index in indexes:
            entry = self.catalog.partition_entry(topic, index)
            state = entry.state
            if self.node_id not in state.replicas:
                continue
            is_sole = len(state.replicas) == 1
            try:
                partition = self.storage.open(topic, index, state.leader_epoch, is_sole=is_sole)
            except OSError as error:
                if not is_no_room(error) or not self.reserve.free():
                    raise
                partition = self.storage.open(topic, index, state.leader_epoch, is_sole=is_sole)
            if not topic.internal:
                partition.produced = self.meter.partition_tally(
                    topic.name, topic.id.bytes, index, partition
                )
                partition.fetched = self.meter.tally("topic", topic.name, "fetch")
            opened.append((partition, entry))
            # Yields after each: opening takes about a millisecond, and clients are being served.
            await asyncio.sleep(0)
        # Synced before the partitions can be written to: a power cut could undo the directory
        # together with acknowledged records.
        await self.storage.sync_root()
        for partition, entry in opened:
            self.routes[topic.name, partition.index] = partition
            self.routes[topic.id.bytes, partition.index] = partition
            self._partitions[partition] = None
            if self.reserve.is_full and not partition.uses_reserve:
                partition.withhold(self.reserve.refusal())
            self.roles.take(partition, entry)

    async def _drop(self, doomed: list[Partition], refusal: Refusal) -> None:
        for partition in doomed:
            topic = partition.topic
            del self.routes[topic.name, partition.index], self._partitions[partition]
            del self.routes[topic.id.bytes, partition.index]
            self.flusher.forget(partition)
            self._deleted_bytes_in += partition.bytes_in
            self._deleted_bytes_out += partition.bytes_out
            partition.fence(refusal)
            self.roles.give_up(partition)
            partition.log.release()
        # Waits for work offloaded earlier, which may still write to these paths: a new topic of
        # the same name must not find such files.
        await self.disk.offload(_nothing)
        for partition in doomed:
            self._remove_tree_later(self.storage.remove(partition))

    def registered(self, broker_epoch: int) -> None:
        """Takes the broker epoch of a new registration: only elections under it count."""
        self.roles.registered(broker_epoch, self.partitions())

    def suspend(self, refusal: Refusal) -> None:
        """Stops answering as a leader until `resume`: the cluster may take this node for dead."""
        self.roles.suspend(refusal, self.partitions())

    def resume(self) -> None:
        self.roles.resume(self.partitions())

    def _room_changed(self) -> None:
        """Closes or opens the gate in front of new messages."""
        refusal = self.reserve.refusal() if self.reserve.is_full else None
        for partition in self._partitions:
            if not partition.uses_reserve:
                partition.withhold(refusal)

    def _remove_tree_later(self, path: str) -> None:
        """Removes a directory in the background; the next start removes what a stop leaves."""
        removal = asyncio.ensure_future(self.disk.offload(partial(self.disk.remove_tree, path)))
        self._removals.add(removal)
        removal.add_done_callback(self._removals.discard)

    def _storage_failed(self, error: OSError) -> None:
        """Fences all partitions after a failed sync: nothing here can be trusted to be durable."""
        self.has_failed = True
        log.critical("storage failed, the data directory is fenced", error=str(error))
        failure = StorageFailed(f"the disk failed: {error.strerror or error}")
        # An unknown outcome, since the records may be there after a restart. Told of a failure,
        # an idempotent producer forms new batches, which could not be recognised as repeats.
        unknown = RequestTimedOut("the disk failed; whether the records are stored is not known")
        for partition in self.partitions():
            partition.fence(failure, waiting=unknown)
        self._on_storage_failure(error)

    async def stop(self) -> None:
        """Makes all logs durable and closes them; called after the listeners have stopped."""
        await self.catalog.stop()
        if self.has_failed:
            return
        for partition in self.partitions():
            if partition.log.durable_offset < partition.log.end_offset:
                self.flusher.request(partition)
        await self.flusher.drain()
        now_ms = self.clock.now_ms()
        budget = Budget(self.clock)
        for partition in self.partitions():
            if partition.batches_since_snapshot and (write := partition.take_snapshot()):
                await self._save_snapshot(write)
            partition.log.close(now_ms)
            await budget.rest()
        await self._write_points()

    async def _save_snapshot(self, write: Callable[[], None]) -> None:
        """Writes a snapshot; without room for it, the next start reads the log instead."""
        try:
            await self.disk.offload(write)
        except OSError as error:
            if not is_no_room(error):
                raise
            self.reserve.free()


def _nothing() -> None:
    """A barrier: offloaded, it runs after everything offloaded before it."""
