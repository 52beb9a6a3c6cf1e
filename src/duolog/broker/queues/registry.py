"""The queues of a node, as the catalogs say, and what happens to them by themselves.

Follows the catalog of queues as the broker follows that of topics. Sees to every queue's time,
through one timer, and opens a queue's journals when it first has something to write down.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.broker.partition import Partition
from duolog.broker.queues.catalog import QueueCatalog, QueueEntry
from duolog.broker.queues.dead_letters import DeadLetters
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.broker.queues.receipts import Receipts
from duolog.broker.queues.recovery import (
    open_state,
    recall_deduplication,
    recover,
    rules_of,
)
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.timekeeper import Timekeeper
from duolog.broker.queues.topics import journal_overrides
from duolog.broker.queues.turn import Turn
from duolog.broker.queues.upkeep import UPKEEP_MS, Upkeep
from duolog.core.queues.deduplication import DEDUPLICATION_MS, Deduplication
from duolog.core.queues.delivery import Delivery
from duolog.log.thinning import KeptRanges
from duolog.model.errors import Refusal, StorageFailed, UnknownTopicOrPartition
from duolog.model.names import queue_state_topic
from duolog.model.partition_state import PartitionEntry
from duolog.observe.logs import get_logger

QUIET_MS = 60_000
"""How long until a partition is looked at again to which nothing happened."""

THINNED_HELD_MAX = 10_000
"""With more that are received and not done, going through them would hold up others."""

log = get_logger("queues")


class QueueRegistry:
    def __init__(self, broker: Broker, catalog: QueueCatalog, receipt_key: bytes) -> None:
        self.broker = broker
        self.catalog = catalog
        self.clock = SteadyClock(broker.clock)
        self._receipt_key = receipt_key
        self._queues: dict[str, Queue] = {}
        self._of: dict[QueuePartition, Queue] = {}
        self._reading: dict[str, list[Queue]] = {}
        """By the topic whose records are their messages."""
        self._openings: dict[QueueState, list[Callable[[Refusal | None], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._turn = Turn()
        self._timekeeper = Timekeeper(self.clock, self._ring)
        self._upkeep = Upkeep(broker.disk)
        self._dead_letters = DeadLetters(self)
        catalog.subscribe(self)
        broker.catalog.subscribe(self)

    async def stop(self) -> None:
        """Doors have stopped already."""
        await self.halt()
        self._turn.flush()
        if not self.broker.has_failed:
            await self._save()
        await self.catalog.stop()

    async def _save(self) -> None:
        """Snapshots, so that the next start has nothing to find out."""
        changed = [each for each in self._of if self._upkeep.has_changed(each)]
        for partition in changed:
            assert partition.journal is not None
            self.broker.flusher.request(partition.journal.partition)
        await self.broker.flusher.drain()
        for partition in changed:
            self._upkeep.snapshot(partition)
        await self._upkeep.stop()

    async def halt(self) -> None:
        """Nothing happens by itself any more."""
        self._timekeeper.stop()
        for task in list(self._tasks):
            task.cancel()

    def get(self, name: str) -> Queue:
        queue = self._queues.get(name)
        if queue is None:
            raise gone()
        return queue

    def find(self, name: str) -> Queue | None:
        return self._queues.get(name)

    def all(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def opening_count(self) -> int:
        """Queues whose journals are being made."""
        return len(self._openings)

    def names(self, prefix: str, after: str, limit: int) -> list[str]:
        """In order, from behind `after` on."""
        names = sorted(name for name in self._queues if name.startswith(prefix))
        first = bisect_right(names, after) if after else 0
        return names[first : first + limit]

    def dead_letter_sources(self, name: str, after: str, limit: int) -> list[str]:
        names = sorted(
            each.entry.name
            for each in self._queues.values()
            if each.config.redrive is not None and each.config.redrive.dead_letter_queue == name
        )
        first = bisect_right(names, after) if after else 0
        return names[first : first + limit]

    # Following the catalogs.

    async def queue_created(self, entry: QueueEntry) -> None:
        queue = Queue(entry, Receipts(self._receipt_key, entry.id), self.clock, self._turn, self)
        try:
            topic = self.broker.catalog.get(entry.config.source_topic or entry.name)
        except UnknownTopicOrPartition:
            log.error("a queue without its topic is not served", queue=entry.name)
            return
        for index in range(topic.partitions):
            await self._add_partition(queue, topic, index)
        self._queues[entry.name] = queue
        self._reading.setdefault(queue.topic_name, []).append(queue)

    async def queue_changed(self, old: QueueEntry, new: QueueEntry) -> None:
        queue = self._queues.get(new.name)
        if queue is None:
            return
        queue.state.entry = new
        for partition in queue.partitions:
            partition.delivery.rules = rules_of(new.config)
            if old.config.deduplication_scope != new.config.deduplication_scope:
                recall_deduplication(partition, new.config, self.clock.now_ms())
            self.rearm(partition)
        queue.serve_parked()

    async def queue_deleted(self, entry: QueueEntry) -> None:
        queue = self._queues.pop(entry.name, None)
        if queue is not None:
            queue.close()
            self._reading[queue.topic_name].remove(queue)
            for partition in queue.partitions:
                self._upkeep.forget(partition)
                del self._of[partition]

    async def topic_created(self, topic: Topic) -> None:
        """Queues come after their topics."""

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        for queue in self._reading.get(new.name, ()):
            for index in range(old.partitions, new.partitions):
                await self._add_partition(queue, new, index)

    async def topic_deleted(self, topic: Topic) -> None:
        """Only after its queues."""

    async def partition_changed(self, topic: Topic, index: int, entry: PartitionEntry) -> None:
        """The broker tells when this node leads the partition, or no longer."""

    async def _add_partition(self, queue: Queue, topic: Topic, index: int) -> None:
        data = self.broker.partition(topic.name, index)
        partition = QueuePartition(
            data,
            Delivery(rules_of(queue.config), data.log.start_offset),
            Deduplication(),
            self.clock,
            queue.became_ready,
        )
        if (queue_state_topic(queue.entry.name), index) in self.broker.routes:
            self._attach_journal(queue.state, partition)
        await open_state(partition, queue.config, self.clock.now_ms())
        queue.partitions.append(partition)
        queue.state.has_journals = all(each.journal is not None for each in queue.partitions)
        self._of[partition] = queue
        data.add_reader(partition)
        if not partition.delivery.is_empty:
            self._timekeeper.arm(partition, self.clock.now_ms())

    def _attach_journal(self, queue: QueueState, partition: QueuePartition) -> None:
        companion = self.broker.partition(queue_state_topic(queue.entry.name), partition.data.index)
        journal = Journal(companion, self.clock, self._turn)
        partition.attach(journal, partial(self._recall, queue, partition))

    def _recall(self, queue: QueueState, partition: QueuePartition) -> None:
        """What was decided could not be written down, so it is found out again."""
        if queue.is_gone:
            return
        # A snapshot that waits to be written knows of it, too.
        self._upkeep.forget(partition)
        now_ms = self.clock.now_ms()
        try:
            recover(partition, queue.config, now_ms)
        except OSError as error:
            self.broker.flusher.give_up(error)
        # Somebody may wait for what is ready again.
        assert partition.journal is not None
        self._timekeeper.arm(partition, partition.journal.retry_ms)

    # What queues need done around them.

    def open_journals(self, queue: QueueState, opened: Callable[[Refusal | None], None]) -> None:
        if all(each.journal is not None for each in queue.partitions):
            opened(None)
            return
        waiting = self._openings.get(queue)
        if waiting is None:
            self._openings[queue] = [opened]
            task = asyncio.ensure_future(self._open_journals(queue))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            waiting.append(opened)

    async def _open_journals(self, queue: QueueState) -> None:
        failure: Refusal | None = None
        try:
            while not queue.has_journals:
                await self._make_journals(queue)
        except Refusal as refusal:
            failure = refusal
        finally:
            waiting = self._openings.pop(queue)
            if failure is None and not queue.has_journals:
                failure = StorageFailed("the queue's journal could not be opened")
            for opened in waiting:
                opened(failure)

    async def _make_journals(self, queue: QueueState) -> None:
        name = queue_state_topic(queue.entry.name)
        catalog = self.broker.catalog
        wanted = len(queue.partitions)
        topic = catalog.topics.get(name)
        if topic is None:
            durability = queue.partitions[0].data.topic.config.durability
            await catalog.create_topic(name, wanted, journal_overrides(durability))
        elif topic.partitions < wanted:
            await catalog.create_partitions(name, wanted)
        if queue.is_gone:
            raise gone()
        for partition in queue.partitions[:wanted]:
            if partition.journal is None:
                self._attach_journal(queue, partition)
        queue.has_journals = all(each.journal is not None for each in queue.partitions)

    def rearm(self, partition: QueuePartition) -> None:
        """Something happened to the partition: see to it that its time is looked at."""
        partition.is_quiet = False
        delivery = partition.delivery
        armed_ms = partition.armed_ms
        if armed_ms is not None and armed_ms > self.clock.now_ms() + QUIET_MS:
            # It was empty, and could wait for longer than what it has now.
            armed_ms = None
        if armed_ms is not None and delivery.soonest_ms >= armed_ms and not delivery.has_dead:
            return
        due_ms = delivery.next_deadline_ms()
        if delivery.has_dead and not partition.is_burying:
            due_ms = partition.burial_ms
        if armed_ms is None:
            upkeep_ms = self.clock.now_ms() + UPKEEP_MS
            self._timekeeper.arm(partition, upkeep_ms if due_ms is None else min(due_ms, upkeep_ms))
        elif due_ms is not None and due_ms < armed_ms:
            self._timekeeper.arm(partition, due_ms)

    def _ring(self, partition: QueuePartition, now_ms: int) -> None:
        queue = self._of.get(partition)
        if queue is None:
            return
        delivery = partition.delivery
        was_quiet = partition.is_quiet
        partition.is_quiet = True
        if delivery.tick(now_ms) or (queue.parked and delivery.ready_count):
            queue.serve_parked()
        if now_ms >= partition.upkeep_ms:
            self._keep_up(queue, partition, now_ms)
            partition.upkeep_ms = now_ms + (QUIET_MS if was_quiet else UPKEEP_MS)
        if delivery.has_dead and partition.journal is not None and now_ms >= partition.burial_ms:
            self._dead_letters.bury(queue, partition)
        due_ms = delivery.next_deadline_ms()
        if not delivery.is_empty or self._upkeep.wants_snapshot(partition):
            due_ms = partition.upkeep_ms if due_ms is None else min(due_ms, partition.upkeep_ms)
        elif due_ms is None and not was_quiet:
            due_ms = now_ms + _kept_ms(queue)
        if due_ms is not None:
            self._timekeeper.arm(partition, due_ms)

    def _beside(self, queue: Queue, partition: QueuePartition) -> list[QueuePartition]:
        """The partitions of other queues that have the same messages."""
        index = partition.data.index
        return [
            other.partitions[index]
            for other in self._reading.get(queue.topic_name, ())
            if other is not queue and index < len(other.partitions)
        ]

    def thinnable(self) -> Iterator[tuple[Partition, KeptRanges, int]]:
        """Partitions of which done messages may go, what is not done, and below which offset.

        Not where others read the messages as well, or deleted ones are kept.
        """
        for queue in list(self._queues.values()):
            config = queue.config
            if config.source_topic is not None or config.retain_deleted_seconds:
                continue
            for partition in queue.partitions:
                delivery = partition.delivery
                if (
                    len(partition.data.log.segments) == 1
                    or delivery.held_count > THINNED_HELD_MAX
                    or self._beside(queue, partition)
                ):
                    continue
                below_offset = delivery.end_offset
                if config.fifo:
                    below_offset = delivery.offset_at(self.clock.now_ms() - DEDUPLICATION_MS)
                yield partition.data, partition.undone_ranges, below_offset

    def _keep_up(self, queue: Queue, partition: QueuePartition, now_ms: int) -> None:
        if partition.journal is None:
            if self._upkeep.is_due(partition, now_ms):
                self.open_journals(queue.state, lambda failure: None)
            return
        try:
            self._upkeep.run(queue, partition, self._beside(queue, partition), now_ms)
        except Refusal as refusal:
            log.error("upkeep of a queue failed", queue=queue.entry.name, error=str(refusal))


def _kept_ms(queue: Queue) -> int:
    """How long done messages are still of use: then their space can be had back."""
    kept_ms = queue.config.retain_deleted_seconds * 1000
    return UPKEEP_MS + max(kept_ms, DEDUPLICATION_MS if queue.config.fifo else 0)
