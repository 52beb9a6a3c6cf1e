"""All queues of a node: makes, changes and removes them, and sees to their time.

Follows the catalog of queues as the broker follows that of topics. A queue's topics are made
before its entry and removed after it, so that a crash in between leaves a topic without a
queue, never a queue without its messages.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.broker.queues.catalog import QueueCatalog, QueueEntry
from duolog.broker.queues.commits import committed, settle_future
from duolog.broker.queues.dead_letters import DeadLetters
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.move_tasks import MoveTasks
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.broker.queues.receipts import Receipts
from duolog.broker.queues.recovery import open_partition, rules_of
from duolog.broker.queues.replaying import replays
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.timekeeper import Timekeeper
from duolog.broker.queues.topics import journal_overrides, message_overrides
from duolog.broker.queues.upkeep import UPKEEP_MS, Upkeep
from duolog.config.queue import QueueConfig, parse_queue_config
from duolog.core.queues.changes import Change, Trimmed
from duolog.model.errors import (
    InvalidTopic,
    PolicyViolation,
    Refusal,
    TopicExists,
    UnknownTopicOrPartition,
)
from duolog.model.names import check_queue_name, queue_state_topic
from duolog.model.queue_errors import (
    InvalidAttributeValue,
    InvalidParameterValue,
    PurgeQueueInProgress,
    QueueDeletedRecently,
)
from duolog.observe.logs import get_logger
from duolog.ports.metastore import MetaStore

log = get_logger("queues")


class Queues:
    def __init__(
        self, broker: Broker, store: MetaStore, catalog: QueueCatalog, *, receipt_key: bytes
    ) -> None:
        self.broker = broker
        self.catalog = catalog
        self.clock = SteadyClock(broker.clock)
        self._receipt_key = receipt_key
        self._queues: dict[str, Queue] = {}
        self._of: dict[QueuePartition, Queue] = {}
        self._removing: set[str] = set()
        self._growing: set[str] = set()
        self._openings: dict[QueueState, list[Callable[[Refusal | None], None]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._timekeeper = Timekeeper(self.clock, self._ring)
        self._upkeep = Upkeep(broker.disk)
        self._dead_letters = DeadLetters(self)
        self.move_tasks = MoveTasks(self, store, self.clock.now_ms)
        catalog.subscribe(self)
        broker.catalog.subscribe(self)
        catalog.check_servable = self._check_servable
        broker.catalog.check_delete = self._check_delete
        broker.catalog.check_growth = self._check_growth

    async def start(self) -> None:
        """Open every queue. The broker's partitions are open already."""
        await self.catalog.start()
        for entry in list(self.catalog.deleted.values()):
            await self._remove(entry)
        await self._forget_deleted()
        await self.move_tasks.resume()

    async def stop(self) -> None:
        """Doors have stopped already."""
        await self.halt()
        for queue in self._queues.values():
            for partition in queue.partitions:
                if partition.journal is not None:
                    self._upkeep.snapshot(partition)
        await self._upkeep.stop()
        await self.catalog.stop()

    async def halt(self) -> None:
        """Nothing happens by itself any more."""
        self._timekeeper.stop()
        await self.move_tasks.stop()
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

    # Changing what there is.

    async def create(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]
    ) -> Queue:
        """The new queue, or the one that is there and has all these attributes."""
        check_queue_name(name)
        config = parse_queue_config(name, attributes)
        if name in self._removing:
            raise QueueDeletedRecently("The queue of that name is still being removed.")
        self.catalog.check_creatable(name, self.clock.now_ms())
        made = False
        if name not in self._queues and config.source_topic is None:
            made = await self._create_topic(name, config)
        try:
            await self.catalog.create(name, attributes, tags, self.clock.now_ms())
        except Refusal:
            if made and name not in self.catalog.queues:
                await self.broker.catalog.delete_topic(name)
            raise
        return self.get(name)

    async def _create_topic(self, name: str, config: QueueConfig) -> bool:
        """Whether there was none: the records of one that is there become messages."""
        settings = self.broker.settings
        partitions = settings.integer("queue.partitions")
        if config.fifo:
            partitions = self._fifo_partitions if config.is_high_throughput else 1
        try:
            await self.broker.catalog.create_topic(name, partitions, message_overrides(config))
        except TopicExists:
            return False
        except InvalidTopic as refusal:
            raise InvalidParameterValue(str(refusal)) from refusal
        return True

    @property
    def _fifo_partitions(self) -> int:
        return self.broker.settings.integer("queue.fifo.partitions")

    async def set_attributes(self, name: str, attributes: Mapping[str, str]) -> None:
        before = self.get(name).config
        await self.catalog.set_attributes(name, attributes, self.clock.now_ms())
        queue = self.get(name)
        config = queue.config
        if config.durability != before.durability and config.durability is not None:
            await self._set_durability(queue, config.durability)
        if config.is_high_throughput and config.source_topic is None:
            topics = self.broker.catalog
            if topics.get(name).partitions < self._fifo_partitions:
                self._growing.add(name)
                try:
                    await topics.create_partitions(name, self._fifo_partitions)
                finally:
                    self._growing.discard(name)

    async def _set_durability(self, queue: Queue, durability: str) -> None:
        topics = [queue_state_topic(queue.entry.name)]
        if queue.config.source_topic is None:
            topics.append(queue.entry.name)
        for topic in topics:
            if topic in self.broker.catalog.topics:
                await self.broker.catalog.edit_config(
                    topic, lambda overrides: {**overrides, "durability": durability}
                )

    async def delete(self, name: str) -> None:
        self.get(name)
        self._removing.add(name)
        try:
            entry = await self.catalog.delete(name, self.clock.now_ms())
            await self._remove(entry)
        finally:
            self._removing.discard(name)
        await self._forget_deleted()

    async def _remove(self, entry: QueueEntry) -> None:
        """Remove the topics of a deleted queue."""
        topics = [queue_state_topic(entry.name)]
        if entry.config.source_topic is None:
            topics.append(entry.name)
        for topic in topics:
            if topic in self.broker.catalog.topics:
                await self.broker.catalog.delete_topic(topic)

    async def _forget_deleted(self) -> None:
        for entry in self.catalog.forgettable(self.clock.now_ms()):
            if entry.name not in self._removing:
                await self.catalog.forget_deleted(entry.name)

    async def purge(self, name: str) -> int:
        """Delete every message that is there now; returns how many."""
        queue = self.get(name)
        now_ms = self.clock.now_ms()
        interval_ms = self.broker.settings.integer("sqs.purge.interval.seconds") * 1000
        purged_ms = queue.entry.purged_ms
        if purged_ms is not None and now_ms - purged_ms < interval_ms:
            raise PurgeQueueInProgress(
                f"Only one PurgeQueue operation on {name} is allowed every"
                f" {interval_ms // 1000} seconds."
            )
        await self.catalog.note_purged(name, now_ms)
        await self.journaled(queue)
        purged = sum(queue.counts())
        for partition in queue.partitions:
            await self._commit(partition, Trimmed(partition.data.log.end_offset))
        return purged

    async def replay(self, name: str, from_ms: int, to_ms: int) -> int:
        """Make deleted messages that were sent in that time deliverable again; how many."""
        queue = self.get(name)
        await self.journaled(queue)
        before = sum(queue.counts())
        for partition in queue.partitions:
            await self._replay(partition, from_ms, to_ms)
        queue.serve_parked()
        return sum(queue.counts()) - before

    async def _replay(self, partition: QueuePartition, from_ms: int, to_ms: int) -> None:
        """Offsets are found by the log's time index, so that messages are, to the millisecond."""
        kept = partition.data.log
        now_ms = self.clock.now_ms()
        end_offset = partition.delivery.end_offset
        first = await self.broker.disk.offload(kept.timestamp_search(from_ms))
        following = await self.broker.disk.offload(kept.timestamp_search(to_ms))
        first_offset = end_offset if first is None else first[0]
        next_offset = end_offset if following is None else min(following[0], end_offset)
        for change in replays(partition, first_offset, next_offset, now_ms):
            await self._commit(partition, change)

    async def _commit(self, partition: QueuePartition, change: Change) -> None:
        end_offset = partition.change(change, self.clock.now_ms())
        assert partition.journal is not None
        await committed(partition.journal.partition, end_offset)

    async def journaled(self, queue: Queue) -> None:
        """Wait until changes of the queue can be written down."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open_journals(queue.state, partial(settle_future, opened))
        await opened

    async def edit_policy(self, name: str, edit: Callable[[str], str]) -> None:
        await self.catalog.edit_policy(name, edit, self.clock.now_ms())

    async def edit_tags(
        self, name: str, edit: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> None:
        await self.catalog.edit_tags(name, edit)

    def _check_servable(self, entry: QueueEntry) -> None:
        source = entry.config.source_topic
        if source is not None and source not in self.broker.catalog.topics:
            raise InvalidAttributeValue(
                f"Invalid value for the parameter duolog:SourceTopic. Reason: There is no topic"
                f" '{source}'."
            )

    def _check_delete(self, topic: str) -> None:
        """Refuse to delete a topic that queues live on."""
        for queue in self._queues.values():
            if queue.topic_name == topic:
                raise PolicyViolation(
                    f"topic '{topic}' holds the messages of queue '{queue.entry.name}';"
                    " delete the queue first"
                )

    def _check_growth(self, topic: str) -> None:
        """Refuse more partitions of a FIFO queue's topic: its groups would lose their order."""
        queue = self._queues.get(topic)
        if queue is not None and queue.config.fifo and topic not in self._growing:
            raise PolicyViolation(
                f"topic '{topic}' is a FIFO queue; make it a high-throughput one instead"
            )

    # Following the catalogs.

    async def queue_created(self, entry: QueueEntry) -> None:
        queue = Queue(entry, Receipts(self._receipt_key, entry.id), self.clock, self)
        try:
            topic = self.broker.catalog.get(entry.config.source_topic or entry.name)
        except UnknownTopicOrPartition:
            log.error("a queue without its topic is not served", queue=entry.name)
            return
        for index in range(topic.partitions):
            self._add_partition(queue, topic, index)
        self._queues[entry.name] = queue

    async def queue_changed(self, old: QueueEntry, new: QueueEntry) -> None:
        queue = self._queues.get(new.name)
        if queue is None:
            return
        queue.state.entry = new
        for partition in queue.partitions:
            partition.delivery.rules = rules_of(new.config)
            if new.config.redrive is None:
                partition.delivery.revive()
            self.rearm(partition)
        queue.serve_parked()

    async def queue_deleted(self, entry: QueueEntry) -> None:
        queue = self._queues.pop(entry.name, None)
        if queue is not None:
            queue.close()
            for partition in queue.partitions:
                self._upkeep.forget(partition)
                del self._of[partition]
            await self.move_tasks.queue_deleted(entry.name)

    async def topic_created(self, topic: Topic) -> None:
        """Queues come after their topics."""

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        for queue in self._queues.values():
            if queue.topic_name == new.name:
                for index in range(old.partitions, new.partitions):
                    self._add_partition(queue, new, index)

    async def topic_deleted(self, topic: Topic) -> None:
        """Only after its queues."""

    def _add_partition(self, queue: Queue, topic: Topic, index: int) -> None:
        journal = None
        state_topic = queue_state_topic(queue.entry.name)
        if (state_topic, index) in self.broker.routes:
            journal = Journal(self.broker.partition(state_topic, index))
        data = self.broker.partition(topic.name, index)
        partition = open_partition(queue.config, data, journal, self.clock, queue.became_ready)
        queue.partitions.append(partition)
        queue.state.has_journals = all(each.journal is not None for each in queue.partitions)
        self._of[partition] = queue
        data.add_reader(partition)
        if partition.delivery.low_offset() < partition.delivery.end_offset:
            self._timekeeper.arm(partition, self.clock.now_ms())

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
            await self._make_journals(queue)
        except Refusal as refusal:
            failure = refusal
        for opened in self._openings.pop(queue):
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
        for index, partition in enumerate(queue.partitions[:wanted]):
            if partition.journal is None:
                partition.journal = Journal(self.broker.partition(name, index))
        queue.has_journals = True

    def rearm(self, partition: QueuePartition) -> None:
        due_ms = partition.delivery.next_deadline_ms()
        armed_ms = partition.armed_ms
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
        queue.look_at_time(partition, now_ms)
        if partition.journal is None:
            if self._upkeep.wants_snapshot(partition) or delivery.expired_before(now_ms) > (
                delivery.low_offset()
            ):
                self.open_journals(queue.state, lambda failure: None)
        else:
            try:
                self._upkeep.run(queue, partition, now_ms)
            except Refusal as refusal:
                log.error("upkeep of a queue failed", queue=queue.entry.name, error=str(refusal))
            if delivery.has_dead:
                self._dead_letters.bury(queue, partition)
        is_idle = delivery.low_offset() == delivery.end_offset and not (
            self._upkeep.wants_snapshot(partition)
        )
        if is_idle:
            partition.armed_ms = None
