"""The queues of a node: follows the catalogs, serves led partitions, runs timers and upkeep.

Follows the catalog of queues as the broker follows that of topics. One timer serves all queues,
and a queue's journals are created on its first change.
"""

from abc import ABC
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.broker.partition import Partition
from duolog.broker.queues.catalog import QueueCatalog, QueueEntry
from duolog.broker.queues.dead_letters import DeadLetters
from duolog.broker.queues.journal_topics import JournalTopics
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition, not_led
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.broker.queues.receipts import Receipts
from duolog.broker.queues.recovery import rules_of
from duolog.broker.queues.retirement import Retirement
from duolog.broker.queues.routing.leaders import Leaders
from duolog.broker.queues.routing.links import NoPeers, QueueLink, RemoteQueue
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.broker.queues.routing.served_queue import LocalDuties, ServedQueue
from duolog.broker.queues.serving import Serving
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.timekeeper import Timekeeper
from duolog.broker.queues.turn import Turn
from duolog.broker.queues.upkeep import UPKEEP_MS, Upkeep
from duolog.core.queues.deduplication import DEDUPLICATION_MS
from duolog.log.thinning import KeptRanges
from duolog.model.errors import Refusal
from duolog.model.names import queue_state_topic
from duolog.model.partition_state import PartitionEntry
from duolog.model.usage import Operation
from duolog.observe.logs import get_logger
from duolog.ports.peers import Peers

QUIET_MS = 60_000
"""Interval of upkeep for a partition to which nothing has happened."""

THINNED_HELD_MAX = 10_000
"""Held messages above which a partition is not thinned: walking them would block the loop."""

log = get_logger("queues")


class QueueRegistry(LocalDuties, ABC):
    def __init__(
        self, broker: Broker, catalog: QueueCatalog, receipt_key: bytes, peers: Peers
    ) -> None:
        self.broker = broker
        self.catalog = catalog
        self.clock = SteadyClock(broker.clock)
        self._receipt_key = receipt_key
        self._peers = peers
        self._queues: dict[str, Queue] = {}
        self._of: dict[QueuePartition, Queue] = {}
        self._reading: dict[str, list[Queue]] = {}
        """Queues by the topic whose records are their messages."""
        self._journaling: dict[str, Queue] = {}
        """Queues by the topic of their journals."""
        self.turn = Turn()
        """Gathers the requests and journal writes of one turn of the event loop."""
        self._journals = JournalTopics(broker)
        self._serving = Serving(broker, self.clock, self.turn, self)
        self._fronts: dict[str, Queue | RoutedQueue] = {}
        """Queues as the APIs use them: the Queue itself if this node serves all of it."""
        self._routed: dict[Queue, RoutedQueue] = {}
        self._timekeeper = Timekeeper(self.clock, broker.clock, self._ring)
        self._upkeep = Upkeep()
        self._dead_letters = DeadLetters(self)
        self._retirement = Retirement(broker)
        catalog.subscribe(self)
        broker.catalog.subscribe(self)

    async def stop(self) -> None:
        """Stops all queues and writes snapshots; called after the listeners have stopped."""
        await self.halt()
        self.turn.flush()
        if not self.broker.has_failed:
            await self._upkeep.save_changed(self._of)
        await self.catalog.stop()

    async def save(self) -> None:
        """Writes snapshots of what others would have to read, before they lead; called while the
        other nodes can still copy them, and clients are not served any more."""
        self.turn.flush()
        await self._upkeep.save_for_others(self._of)

    async def halt(self) -> None:
        """Stops timers and background work."""
        self._timekeeper.stop()
        self._journals.stop()
        self._serving.stop()
        self._retirement.stop()
        for routed in self._routed.values():
            routed.close()

    def get(self, name: str) -> Queue | RoutedQueue:
        """The queue as the APIs use it; raises QueueDoesNotExist."""
        queue = self._fronts.get(name)
        if queue is None:
            raise gone()
        return queue

    def front(self, name: str) -> Queue | RoutedQueue | None:
        return self._fronts.get(name)

    def local(self, name: str) -> Queue:
        """The queue as far as this node serves it; raises QueueDoesNotExist."""
        queue = self._queues.get(name)
        if queue is None:
            raise gone()
        return queue

    def find(self, name: str) -> Queue | None:
        return self._queues.get(name)

    def links(self, name: str) -> list[QueueLink]:
        """Links to the nodes that serve a part of the queue, this node first."""
        queue = self.local(name)
        if queue.state.has_all_partitions:
            return [ServedQueue(queue, self)]
        return self._routed[queue].links()

    def served(self, name: str, queue_id: bytes) -> ServedQueue:
        """The part served here, for another node; raises NotLeader if the ids differ."""
        queue = self._queues.get(name)
        if queue is None or queue.entry.id.bytes != queue_id:
            # One of the two nodes has not heard of the latest change; the other asks again.
            raise not_led()
        return ServedQueue(queue, self)

    def all(self) -> Iterator[Queue]:
        return iter(self._queues.values())

    def __len__(self) -> int:
        return len(self._queues)

    @property
    def opening_count(self) -> int:
        """Number of queues whose journals are being created."""
        return len(self._journals)

    def names(self, prefix: str, after: str, limit: int) -> list[str]:
        """Sorted queue names with a prefix, after the name `after`."""
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
        queue = Queue(entry, Receipts(self._receipt_key, entry.id), self.clock, self.turn, self)
        queue.state.is_only_node = isinstance(self._peers, NoPeers)
        self._queues[entry.name] = queue
        self._routed[queue] = RoutedQueue(
            queue, Leaders(self.broker, queue), partial(self._link, queue)
        )
        self._look_over(queue)
        self._reading.setdefault(queue.topic_name, []).append(queue)
        self._journaling[queue_state_topic(entry.name)] = queue
        topic = self.broker.catalog.topics.get(queue.topic_name)
        # None: this node has yet to hear of the topic.
        for index in range(topic.partitions if topic is not None else 0):
            self._serving.begin(queue, index)
            await self._serving.until_open(queue, index)

    async def queue_changed(self, old: QueueEntry, new: QueueEntry) -> None:
        queue = self._queues.get(new.name)
        if queue is None:
            return
        queue.state.entry = new
        for partition in queue.partitions:
            partition.delivery.rules = rules_of(new.config)
            self.rearm(partition)
        if old.config.deduplication_scope != new.config.deduplication_scope:
            # Its keys are others now: the last minutes' messages are read again.
            for index in [each.data.index for each in queue.partitions]:
                self._serving.reopen(queue, index)
                await self._serving.until_open(queue, index)
        queue.serve_parked()

    async def queue_deleted(self, entry: QueueEntry) -> None:
        queue = self._queues.pop(entry.name, None)
        if queue is not None:
            self._serving.abandon(queue)
            del self._fronts[entry.name]
            self._routed.pop(queue).close()
            queue.close()
            self._reading[queue.topic_name].remove(queue)
            del self._journaling[queue_state_topic(entry.name)]
            for partition in queue.partitions:
                self._upkeep.forget(partition)
                del self._of[partition]

    async def topic_created(self, topic: Topic) -> None:
        """Does nothing: the broker reports each partition that this node leads."""

    async def topic_changed(self, old: Topic, new: Topic) -> None:
        """Waits for added partitions to be served, so that they can be used at once."""
        for queue in self._reading.get(new.name, ()):
            self._look_over(queue)
            for index in range(old.partitions, new.partitions):
                await self._serving.until_open(queue, index)

    async def topic_deleted(self, topic: Topic) -> None:
        """Does nothing: a topic is deleted only after its queues."""

    async def partition_changed(self, topic: Topic, index: int, entry: PartitionEntry) -> None:
        """Does nothing: the broker reports changes of leadership."""

    # Serving what this node leads.

    def queues_on(self, topic: str) -> list[Queue]:
        queue = self._journaling.get(topic)
        return [*self._reading.get(topic, ()), *([] if queue is None else [queue])]

    def opened(self, queue: Queue, partition: QueuePartition) -> None:
        self._of[partition] = queue
        self._look_over(queue)
        if not partition.delivery.is_empty or self._upkeep.wants_snapshot(partition):
            self._timekeeper.arm(partition, self.clock.now_ms())
        queue.serve_parked()

    def closed(self, queue: Queue, partition: QueuePartition) -> None:
        self._of.pop(partition, None)
        self._upkeep.forget(partition)
        self._look_over(queue)

    def _look_over(self, queue: Queue) -> None:
        """Updates the queue's state after its partitions here, or their journals, changed."""
        state, partitions = queue.state, queue.partitions
        state.has_journals = bool(partitions) and all(each.journal for each in partitions)
        has_all = bool(partitions) and len(partitions) == partitions[0].data.topic.partitions
        # Requests admitted before are placed by the partitions served then, if they still are.
        state.has_all_partitions = state.has_all_partitions and has_all
        self._lay_out(queue)
        state.has_all_partitions = has_all
        self._fronts[queue.entry.name] = queue if state.has_all_partitions else self._routed[queue]

    def _lay_out(self, queue: Queue) -> None:
        state, partitions = queue.state, queue.partitions
        if not partitions:
            state.open_partitions = []
            return
        topic = partitions[0].data.topic
        if topic.mod_revision != state.topic_revision:
            # Requests admitted under the old revision are placed by it, too.
            self.turn.flush()
            state.topic_revision = topic.mod_revision
            is_own = queue.config.source_topic is None
            state.open_partition_count = topic.open_partition_count if is_own else topic.partitions
        state.open_partitions = [
            each for each in partitions if each.data.index < state.open_partition_count
        ]
        for partition in partitions:
            self._retirement.look(queue, partition)

    def _link(self, queue: Queue, node: int) -> QueueLink:
        if node == self.broker.node_id:
            return ServedQueue(queue, self)
        return RemoteQueue(self._peers, node, queue.entry)

    def recalling(self, partition: QueuePartition) -> None:
        """Drops upkeep's conclusions from changes that could not be written."""
        self._upkeep.recalled()

    def recalled(self, partition: QueuePartition) -> None:
        """Rings for the partition, whose changes can be written again."""
        # Long polls may wait for messages that are ready again.
        self._timekeeper.arm(partition, self.clock.now_ms())

    # Services for queues: a QueueOwner.

    def open_journals(self, queue: QueueState, opened: Callable[[Refusal | None], None]) -> None:
        self._journals.open(queue, opened)

    def rearm(self, partition: QueuePartition) -> None:
        """Arms the partition's timer for its next deadline, after something happened to it."""
        partition.is_quiet = False
        delivery = partition.delivery
        armed_ms = partition.armed_ms
        if armed_ms is not None and armed_ms > self.clock.now_ms() + QUIET_MS:
            # Armed while the partition was empty, for later than its messages now need.
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
        self.clock.follow()
        delivery = partition.delivery
        was_quiet = partition.is_quiet
        partition.is_quiet = True
        if now_ms >= partition.upkeep_ms:
            pause_ms = QUIET_MS if was_quiet else UPKEEP_MS
            is_done = self._keep_up(queue, partition, now_ms)
            partition.upkeep_ms = now_ms + pause_ms * is_done
        if delivery.tick(now_ms) or (queue.parked and delivery.ready_count):
            queue.serve_parked()
        if (
            delivery.has_dead
            and partition.journal is not None
            and now_ms >= partition.burial_ms
            and not partition.is_unsettled
        ):
            self._dead_letters.bury(queue, partition)
        self._retirement.look(queue, partition)
        due_ms = delivery.next_deadline_ms()
        if not delivery.is_empty or self._upkeep.wants_snapshot(partition):
            due_ms = partition.upkeep_ms if due_ms is None else min(due_ms, partition.upkeep_ms)
        elif due_ms is None and not was_quiet:
            due_ms = now_ms + _kept_ms(queue)
        if due_ms is not None:
            self._timekeeper.arm(partition, due_ms)

    def _others(self, queue: Queue) -> list[Queue]:
        """Other queues that read the same topic."""
        return [each for each in self._reading.get(queue.topic_name, ()) if each is not queue]

    def _beside(self, queue: Queue, partition: QueuePartition) -> list[QueuePartition] | None:
        """Partitions of other queues with the same messages.

        None while one of them is not open, or unsettled: its undone messages are unknown.
        """
        found = [other.partition(partition.data.index) for other in self._others(queue)]
        beside = [each for each in found if each is not None and not each.is_unsettled]
        return beside if len(beside) == len(found) else None

    def thinnable(self) -> Iterator[tuple[Partition, KeptRanges, int]]:
        """Yields partitions that may be thinned, their undone ranges, and the offset below which
        done messages may go.

        Excludes queues whose messages others read, or that retain deleted messages.
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
                    or self._others(queue)
                ):
                    continue
                below_offset = delivery.end_offset
                if config.fifo:
                    below_offset = delivery.offset_at(self.clock.now_ms() - DEDUPLICATION_MS)
                yield partition.data, partition.undone_ranges, below_offset

    def _keep_up(self, queue: Queue, partition: QueuePartition, now_ms: int) -> bool:
        """Returns False if the upkeep goes on in another turn."""
        if partition.journal is None or partition.is_unsettled:
            if partition.journal is None and self._upkeep.is_due(partition, now_ms):
                self.open_journals(queue.state, lambda failure: None)
            return True
        undone = partition.delivery.undone_count
        is_done = True
        try:
            is_done = self._upkeep.run(queue, partition, self._beside(queue, partition), now_ms)
        except Refusal as refusal:
            log.error("upkeep of a queue failed", queue=queue.entry.name, error=str(refusal))
        self.count_messages(queue.entry.name, "expire", undone - partition.delivery.undone_count)
        return is_done

    def count_messages(self, queue: str, operation: Operation, messages: int) -> None:
        if messages:
            self.broker.meter.tally("queue", queue, operation).add_messages(messages)


def _kept_ms(queue: Queue) -> int:
    """Time after which the space of done messages can be reclaimed."""
    kept_ms = queue.config.retain_deleted_seconds * 1000
    return UPKEEP_MS + max(kept_ms, DEDUPLICATION_MS if queue.config.fifo else 0)
