"""All queues of a node: creates, changes and deletes them.

A queue's topics are created before its entry and removed after it, so that a crash in between
leaves a topic without a queue, never a queue without its messages.
"""

from collections.abc import Callable, Mapping

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.broker.queues.catalog import QueueCatalog, QueueEntry
from duolog.broker.queues.catalog_entries import queue_key
from duolog.broker.queues.contents import QueueContents
from duolog.broker.queues.move_tasks import MoveTasks
from duolog.broker.queues.name_locks import NameLocks
from duolog.broker.queues.push.pushing import Pushing
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.routing.links import NoPeers
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.broker.queues.topics import message_overrides
from duolog.config.queue import QueueConfig, parse_queue_config
from duolog.config.topic import TopicConfig
from duolog.model.errors import (
    InvalidTopic,
    PolicyViolation,
    Refusal,
    RequestTimedOut,
    TopicExists,
)
from duolog.model.names import check_queue_name, fold, queue_state_topic
from duolog.model.queue_errors import (
    InvalidAttributeValue,
    InvalidParameterValue,
    PurgeQueueInProgress,
    UnsupportedOperation,
)
from duolog.observe.logs import get_logger
from duolog.ports.http import Poster
from duolog.ports.metastore import Compare, MetaStore
from duolog.ports.peers import Peers

_ATTEMPTS_MAX = 16
"""Attempts to create a queue whose topic others change meanwhile."""

log = get_logger("queues")


class Queues(QueueContents):
    def __init__(
        self,
        broker: Broker,
        store: MetaStore,
        catalog: QueueCatalog,
        poster: Poster,
        *,
        receipt_key: bytes,
        peers: Peers | None = None,
    ) -> None:
        """Wires the queues of a node; a sole node passes no `peers`."""
        super().__init__(broker, catalog, receipt_key, peers or NoPeers())
        self.move_tasks = MoveTasks(self, store, self.clock.now_ms, catalog.new_id)
        self.pushing = Pushing(self, poster, broker.settings)
        catalog.subscribe(self.pushing)
        self._names = NameLocks()
        self._removing: set[str] = set()
        catalog.check_servable = self._check_servable
        broker.catalog.check_delete = self._check_delete
        broker.catalog.check_growth = self._check_growth
        broker.catalog.check_config = self._check_config

    async def start(self) -> None:
        """Opens all queues and finishes interrupted deletions; the broker must have started."""
        await self.catalog.start()
        await self._finish_deletions()
        await self.move_tasks.resume()
        self.pushing.start()

    async def halt(self) -> None:
        await self.pushing.stop()
        await self.move_tasks.stop()
        await super().halt()

    async def create(
        self, name: str, attributes: Mapping[str, str], tags: Mapping[str, str]
    ) -> Queue | RoutedQueue:
        """Creates a queue, or returns the existing one if it has all these attributes."""
        check_queue_name(name)
        config = parse_queue_config(name, attributes)
        async with self._names.lock(fold(name)):
            for _ in range(_ATTEMPTS_MAX):
                self.catalog.check_creatable(name, self.clock.now_ms())
                if name in self.catalog.deleted:
                    # Remaining records would become the new queue's messages.
                    await self._remove(self.catalog.deleted[name])
                if await self._create(name, config, attributes, tags):
                    return self.get(name)
        raise RequestTimedOut(f"queue '{name}' is being changed by others too often")

    async def _create(
        self,
        name: str,
        config: QueueConfig,
        attributes: Mapping[str, str],
        tags: Mapping[str, str],
    ) -> bool:
        """Tries once to create the queue; False if its topic has changed meanwhile."""
        topic, is_made = None, False
        if config.source_topic is None:
            topic, is_made = await self._topic_for(name, config)
        try:
            now_ms = self.clock.now_ms()
            return await self.catalog.create(name, attributes, tags, now_ms, topic) is not None
        except RequestTimedOut:
            # Unknown outcome: if the queue was created, it needs its topic.
            raise
        except Refusal:
            if topic is not None and is_made:
                await self._remove_unused(topic)
            raise

    async def _remove_unused(self, topic: Topic) -> None:
        """Removes a topic made for a queue that was refused, unless another node has created a
        queue on it."""
        present = await self.catalog.current(topic.name)
        if present is None or present.is_deleted or present.topic_id != topic.id:
            is_unused = Compare(queue_key(topic.name), present.mod_revision if present else 0)
            await self.broker.catalog.remove_topic(topic.name, topic.id, [is_unused])

    async def _topic_for(self, name: str, config: QueueConfig) -> tuple[Topic, bool]:
        """Finds or creates the topic of the queue's messages; True if created. The records of an
        existing topic become messages."""
        topics = self.broker.catalog
        if name in self._queues and name in topics.topics:
            return topics.get(name), False
        settings = self.broker.settings
        partitions = settings.integer("queue.partitions")
        if config.fifo:
            partitions = self._fifo_partitions if config.is_high_throughput else 1
        overrides = message_overrides(config)
        try:
            return await topics.create_topic(name, partitions, overrides), True
        except TopicExists:
            await topics.edit_config(name, lambda old: {**old, **overrides})
            return await topics.open_partitions(name, _taking(config)), False
        except InvalidTopic as refusal:
            raise InvalidParameterValue(str(refusal)) from refusal

    @property
    def _fifo_partitions(self) -> int:
        return self.broker.settings.integer("queue.fifo.partitions")

    async def set_attributes(self, name: str, attributes: Mapping[str, str]) -> None:
        before = self.local(name).config
        is_own_fifo = before.fifo and before.source_topic is None
        if is_own_fifo and attributes.get("DeduplicationScope") == "queue":
            # Before the attribute is set: deduplication over the whole queue needs all new
            # messages in one partition; until then the queue is only slower.
            await self.broker.catalog.open_partitions(name, 1)
        await self.catalog.set_attributes(name, attributes, self.clock.now_ms())
        queue = self.local(name)
        config = queue.config
        if config.durability != before.durability and config.durability is not None:
            await self._set_durability(queue, config.durability)
        if is_own_fifo:
            await self._spread_groups(name, config)

    async def _spread_groups(self, name: str, config: QueueConfig) -> None:
        """Opens as many partitions as a FIFO queue may use. Duplicates are detected per partition,
        so with deduplication scope `queue` all messages go to one."""
        topics = self.broker.catalog
        if config.is_high_throughput and topics.get(name).partitions < self._fifo_partitions:
            await topics.create_partitions(name, self._fifo_partitions)
        await topics.open_partitions(name, _taking(config))

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
        self.local(name)
        async with self._names.lock(fold(name)):
            queue = self.local(name)
            for other in self._reading.get(name, ()):
                if other is not queue:
                    raise UnsupportedOperation(
                        f"Queue '{other.entry.name}' reads this one's messages; delete it first."
                    )
            self._removing.add(name)
            try:
                entry = await self.catalog.delete(name, self.clock.now_ms())
                # Waits for a journal that is still being created: it would outlive the queue.
                await self._journals.settled(queue.state)
                await self.move_tasks.queue_deleted(entry)
                await self._remove(entry)
            finally:
                self._removing.discard(name)
        await self._finish_deletions()

    async def _remove(self, entry: QueueEntry) -> None:
        """Removes the topics of a deleted queue, by id: a new queue of its name may exist."""
        topics = self.broker.catalog
        await topics.remove_topic(queue_state_topic(entry.name), entry.journal_id)
        if entry.topic_id is not None:
            await topics.remove_topic(entry.name, entry.topic_id)

    async def _finish_deletions(self) -> None:
        """Removes remaining topics of deleted queues, and entries whose names are free again."""
        free = {entry.name for entry in self.catalog.forgettable(self.clock.now_ms())}
        for entry in list(self.catalog.deleted.values()):
            async with self._names.lock(fold(entry.name)):
                if self.catalog.deleted.get(entry.name) != entry:
                    continue
                try:
                    await self._remove(entry)
                    if entry.name in free:
                        await self.catalog.forget_deleted(entry.name)
                except Refusal as refusal:
                    log.error(
                        "deleted queue not removed yet",
                        queue=entry.name,
                        error=str(refusal),
                    )

    async def purge(self, name: str) -> int:
        """Deletes all present messages; returns their number. Refused if purged recently."""
        queue = self.local(name)
        now_ms = self.clock.now_ms()
        interval_ms = self.broker.settings.integer("sqs.purge.interval.seconds") * 1000
        purged_ms = queue.entry.purged_ms
        if purged_ms is not None and now_ms - purged_ms < interval_ms:
            raise PurgeQueueInProgress(
                f"Only one PurgeQueue operation on {name} is allowed every"
                f" {interval_ms // 1000} seconds."
            )
        purged = await self.purge_all(queue)
        await self.catalog.note_purged(name, now_ms)
        return purged

    def opened(self, queue: Queue, partition: QueuePartition) -> None:
        super().opened(queue, partition)
        if partition.data.index == 0:
            self.move_tasks.leading(queue.entry.name)

    def closed(self, queue: Queue, partition: QueuePartition) -> None:
        super().closed(queue, partition)
        if partition.data.index == 0:
            self.move_tasks.left(queue.entry.name)

    async def move_local(self, queue: Queue, destination: str | None, count: int) -> int:
        return await self.move_tasks.move_some(queue, destination, count)

    async def edit_policy(self, name: str, edit: Callable[[str], str]) -> None:
        await self.catalog.edit_policy(name, edit, self.clock.now_ms())

    async def edit_tags(
        self, name: str, edit: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> None:
        await self.catalog.edit_tags(name, edit)

    def _check_servable(self, entry: QueueEntry) -> None:
        self.pushing.check(entry, self.catalog.queues.get(entry.name))
        source = entry.config.source_topic
        if source is not None and (
            source not in self.broker.catalog.topics or source in self._removing
        ):
            raise InvalidAttributeValue(
                f"Invalid value for the parameter duolog:SourceTopic. Reason: There is no topic"
                f" '{source}'."
            )

    def _check_delete(self, topic: str) -> None:
        """Refuses to delete a topic whose records are a queue's messages."""
        for queue in self._reading.get(topic, ()):
            raise PolicyViolation(
                f"topic '{topic}' holds the messages of queue '{queue.entry.name}';"
                " delete the queue first"
            )

    def _check_growth(self, topic: str) -> None:
        """Refuses more partitions for a FIFO queue that uses only one."""
        queue = self._queues.get(topic)
        if queue is not None and queue.config.fifo and _taking(queue.config) is not None:
            raise PolicyViolation(
                f"topic '{topic}' is a FIFO queue; make it a high-throughput one instead"
            )

    def _check_config(self, topic: str, config: TopicConfig) -> None:
        """Refuses compaction of a queue's topic, which would delete messages of equal keys."""
        if config.cleanup_compact and topic in self._queues:
            raise PolicyViolation(f"topic '{topic}' is a queue and cannot be compacted")


def _taking(config: QueueConfig) -> int | None:
    """Number of partitions that the queue's messages may go to; None: all."""
    return 1 if config.fifo and config.deduplication_scope == "queue" else None
