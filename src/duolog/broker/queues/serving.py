"""Opens and closes the queues' partitions as this node begins and ceases to lead them.

A partition of a queue is opened when this node leads both its messages and its journal, and
everything that they held at that moment is committed, so that nothing can be undone. It is closed
as soon as either is led elsewhere; an opening under way is abandoned then. What was read is kept
for the next opening.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.queues.doubts import Doubts, pass_over
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.kept_states import KeptStates, Key
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.recalls import Recalls
from duolog.broker.queues.recovery import catch_up, open_state, read_state, rules_of
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.core.queues.deduplication import Deduplication
from duolog.core.queues.delivery import Delivery
from duolog.model.errors import Refusal
from duolog.model.names import queue_state_topic
from duolog.observe.logs import get_logger

OPEN_WAIT_S = 1.0
"""Time for which the creation of a queue waits for its partitions to open. Without enough in-sync
replicas it may take for ever, which must not hold up other queues."""
RETRY_S = 2.0

log = get_logger("queues")


class ServingOwner(Protocol):
    def queues_on(self, topic: str) -> Sequence[Queue]:
        """Queues whose messages, or whose journal, the topic holds."""
        ...

    def opened(self, queue: Queue, partition: QueuePartition) -> None: ...

    def closed(self, queue: Queue, partition: QueuePartition) -> None: ...

    def recalling(self, partition: QueuePartition) -> None:
        """Called when changes could not be written, and are to be taken back."""
        ...

    def recalled(self, partition: QueuePartition) -> None:
        """Called when a journal that could not be written can be again: the changes that were not
        written are taken back."""
        ...


class Serving:
    def __init__(self, broker: Broker, clock: SteadyClock, turn: Turn, owner: ServingOwner) -> None:
        self._broker = broker
        self._clock = clock
        self._turn = turn
        self._owner = owner
        self._doubts = Doubts(broker)
        self._openings: dict[tuple[Queue, int], asyncio.Task[None]] = {}
        """Tasks that open partitions, by queue and index."""
        self._kept = KeptStates(broker.clock, self._is_held)
        self._recalls = Recalls(broker, clock, owner, self._read_again)
        broker.leadership.append(self)

    def stop(self) -> None:
        for opening in self._openings.values():
            opening.cancel()
        self._recalls.stop()
        self._kept.stop()

    # Following leadership.

    def leading(self, partition: Partition) -> None:
        for queue in self._queues_on(partition):
            self.begin(queue, partition.index)

    def left(self, partition: Partition) -> None:
        for queue in self._queues_on(partition):
            self.end(queue, partition.index)

    def _queues_on(self, partition: Partition) -> list[Queue]:
        """Queues of the partition, by topic id: not a namesake of a deleted queue."""
        topic = partition.topic
        return [
            queue
            for queue in self._owner.queues_on(topic.name)
            if topic.id in (queue.entry.topic_id, queue.entry.journal_id)
            or topic.name == queue.config.source_topic
        ]

    def begin(self, queue: Queue, index: int) -> None:
        """Starts to open the partition, if this node leads its messages and its journal."""
        journal = self._journal_of(queue, index)
        served = queue.partition(index)
        if served is not None:
            if served.journal is not None or journal is None:
                return
            if not journal.log.end_offset:
                # An empty journal, created for this open partition.
                self._attach(queue, served, journal)
                self._owner.opened(queue, served)
                return
            self.end(queue, index)
        data = self._data_of(queue, index)
        if data is None or not all(map(self._leads, (data, journal))):
            return
        if journal is None and self._has_journal_elsewhere(queue, index):
            return
        self._abandon(queue, index)
        opening = asyncio.ensure_future(self._open(queue, data, journal))
        self._openings[queue, index] = opening
        opening.add_done_callback(partial(self._done, queue, index))

    def end(self, queue: Queue, index: int) -> None:
        self._abandon(queue, index)
        partition = queue.partition(index)
        if partition is not None:
            self._recalls.end(partition)
            queue.remove(partition)
            self._owner.closed(queue, partition)
            if partition.journal is not None:
                partition.progress.journal_offset = partition.journal.partition.log.end_offset
            self._kept.keep(_key(queue, index), partition)

    def reopen(self, queue: Queue, index: int) -> None:
        """Closes the partition and opens it again, by a configuration that has changed."""
        self.end(queue, index)
        self.begin(queue, index)

    def abandon(self, queue: Queue) -> None:
        """Abandons all openings of a deleted queue."""
        for opened, index in list(self._openings):
            if opened is queue:
                self._abandon(queue, index)
        for partition in queue.partitions:
            self._recalls.end(partition)
        self._kept.forget(queue.entry.id.bytes)

    async def until_open(self, queue: Queue, index: int) -> None:
        """Waits until the partition is served, at most OPEN_WAIT_S."""
        opening = self._openings.get((queue, index))
        if opening is not None:
            await asyncio.wait({opening}, timeout=OPEN_WAIT_S)

    def _abandon(self, queue: Queue, index: int) -> None:
        opening = self._openings.pop((queue, index), None)
        if opening is not None:
            opening.cancel()

    def _done(self, queue: Queue, index: int, opening: asyncio.Task[None]) -> None:
        if self._openings.get((queue, index)) is opening:
            del self._openings[queue, index]
        if not opening.cancelled() and (failure := opening.exception()) is not None:
            raise failure

    # Opening a partition.

    async def _open(self, queue: Queue, data: Partition, journal: Partition | None) -> None:
        partition = None
        while partition is None:
            try:
                for half in (data, journal):
                    if half is not None:
                        await half.until_committed(half.log.end_offset)
                partition = await self._opened(queue, data, journal)
            except Refusal as refusal:
                if not all(map(self._leads, (data, journal))):
                    return
                log.error("a queue could not be opened", queue=queue.entry.name, error=str(refusal))
                await asyncio.sleep(RETRY_S)
        queue.add(partition)
        self._owner.opened(queue, partition)
        # Messages committed during the opening are not announced again, so look now.
        partition.advanced()

    async def _opened(
        self, queue: Queue, data: Partition, journal: Partition | None
    ) -> QueuePartition:
        partition = self._blank(queue, data, journal)
        doubt = partial(self._doubts.raise_for, data)
        partition.on_damage = partition.reader.on_damage = doubt
        if partition.journal is not None and journal is not None:
            for header in journal.log.headers(journal.log.end_offset - 1):
                # From the last batch itself, not the time index, which a crash may have damaged.
                self._clock.not_before(header.max_timestamp)
            partition.journal.on_damage = partial(self._doubts.raise_for, journal)
        self._kept.take(_key(queue, data.index), partition)
        config = None
        try:
            while config is not queue.config:
                # The configuration may be changed meanwhile.
                config = queue.config
                admission, flusher = self._broker.admission, self._broker.flusher
                await open_state(partition, config, admission, flusher, self._clock.now_ms())
        except (Refusal, asyncio.CancelledError):
            self._kept.keep(_key(queue, data.index), partition)
            raise
        partition.on_damage = pass_over
        if partition.journal is not None:
            partition.journal.on_damage = pass_over
        return partition

    def _blank(self, queue: Queue, data: Partition, journal: Partition | None) -> QueuePartition:
        """A partition of whose state nothing is known yet."""
        delivery = Delivery(rules_of(queue.config), data.log.start_offset)
        partition = QueuePartition(data, delivery, Deduplication(), self._clock, queue.became_ready)
        if journal is not None:
            self._attach(queue, partition, journal)
        return partition

    def _attach(self, queue: Queue, partition: QueuePartition, companion: Partition) -> None:
        journal = Journal(companion, partition.data, self._clock, self._turn)
        partition.attach(journal, partial(self._recalls.begin, queue, partition))

    async def _read_again(self, queue: Queue, partition: QueuePartition) -> None:
        """Replaces the delivery state by one without the changes that could not be written."""
        journal = partition.journal
        assert journal is not None
        fresh = self._blank(queue, partition.data, journal.partition)
        now_ms = self._clock.now_ms()
        await read_state(fresh, queue.config, self._broker.admission, now_ms)
        # What is still gathered is of the old state: it is written, or taken back with it.
        journal.flush()
        catch_up(fresh, queue.config, now_ms)
        partition.delivery = fresh.delivery

    def _leads(self, half: Partition | None) -> bool:
        """True if this node leads the half, even while suspended: it will resume, or be deposed."""
        return half is None or (half.leader == self._broker.node_id and not half.is_following)

    def _is_held(self, partition: Partition) -> bool:
        """True if this node still holds this copy."""
        return self._broker.routes.get((partition.topic.id.bytes, partition.index)) is partition

    def _data_of(self, queue: Queue, index: int) -> Partition | None:
        topic_id = queue.entry.topic_id
        topic = queue.topic_name if topic_id is None else topic_id.bytes
        return self._broker.routes.get((topic, index))

    def _journal_of(self, queue: Queue, index: int) -> Partition | None:
        """Journal partition, by topic id: a deleted namesake's journal may still exist."""
        return self._broker.routes.get((queue.entry.journal_id.bytes, index))

    def _has_journal_elsewhere(self, queue: Queue, index: int) -> bool:
        """True if a journal exists that this node does not hold: without it, the queue must not
        be opened as if nothing had ever been received."""
        topic = self._broker.catalog.topics.get(queue_state_topic(queue.entry.name))
        if topic is None or topic.id != queue.entry.journal_id:
            return False
        return index < topic.partitions


def _key(queue: Queue, index: int) -> Key:
    return queue.entry.id.bytes, index
