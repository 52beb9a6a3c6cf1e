"""Which partitions of queues this node serves: those that it leads.

A partition of a queue is opened when this node leads both its messages and its journal, and
all that they held at that moment is committed: then nothing of it can be taken back. It is
closed as soon as one of the two is led elsewhere. An opening that is overtaken by that is
abandoned.
"""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Protocol

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.queues.doubts import Doubts, pass_over
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.recovery import (
    open_state,
    recall_deduplication,
    recover,
    rules_of,
)
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.core.queues.deduplication import Deduplication
from duolog.core.queues.delivery import Delivery
from duolog.model.errors import Refusal
from duolog.model.names import queue_state_topic
from duolog.observe.logs import get_logger

OPEN_WAIT_S = 1.0
"""How long whoever makes a queue waits for it to be served. Without enough replicas, or with a
disk that fails, that may take for ever, and other queues are not held up by it."""
RETRY_S = 2.0

log = get_logger("queues")


class ServingOwner(Protocol):
    def queues_on(self, topic: str) -> Sequence[Queue]:
        """Those whose messages, or whose journal, the topic is."""
        ...

    def opened(self, queue: Queue, partition: QueuePartition) -> None: ...

    def closed(self, queue: Queue, partition: QueuePartition) -> None: ...

    def recalled(self, partition: QueuePartition) -> None:
        """What could not be written was taken back."""
        ...


class Serving:
    def __init__(self, broker: Broker, clock: SteadyClock, turn: Turn, owner: ServingOwner) -> None:
        self._broker = broker
        self._clock = clock
        self._turn = turn
        self._owner = owner
        self._doubts = Doubts(broker)
        self._openings: dict[tuple[Queue, int], asyncio.Task[None]] = {}
        """Partitions that are about to be served."""
        broker.leadership.append(self)

    def stop(self) -> None:
        for opening in self._openings.values():
            opening.cancel()

    # Following leadership.

    def leading(self, partition: Partition) -> None:
        for queue in self._queues_on(partition):
            self.begin(queue, partition.index)

    def left(self, partition: Partition) -> None:
        for queue in self._queues_on(partition):
            self.end(queue, partition.index)

    def _queues_on(self, partition: Partition) -> list[Queue]:
        """Not those that only have the name of the deleted queue that it belonged to."""
        topic = partition.topic
        return [
            queue
            for queue in self._owner.queues_on(topic.name)
            if topic.id in (queue.entry.topic_id, queue.entry.journal_id)
            or topic.name == queue.config.source_topic
        ]

    def begin(self, queue: Queue, index: int) -> None:
        """Serve the partition, if both halves of it are led here."""
        journal = self._journal_of(queue, index)
        served = queue.partition(index)
        if served is not None:
            if served.journal is not None or journal is None:
                return
            if not journal.log.end_offset:
                # It was made for this very partition, and says nothing yet.
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
            queue.remove(partition)
            self._owner.closed(queue, partition)

    def abandon(self, queue: Queue) -> None:
        """The queue is gone: what was being opened of it is not."""
        for opened, index in list(self._openings):
            if opened is queue:
                self._abandon(queue, index)

    async def until_open(self, queue: Queue, index: int) -> None:
        """Wait until the partition is served, unless that takes long."""
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

    # Opening one.

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
        # What was committed while its state was being written is not told again.
        partition.advanced()

    async def _opened(
        self, queue: Queue, data: Partition, journal: Partition | None
    ) -> QueuePartition:
        config = queue.config
        partition = QueuePartition(
            data,
            Delivery(rules_of(config), data.log.start_offset),
            Deduplication(),
            self._clock,
            queue.became_ready,
        )
        if journal is not None:
            self._attach(queue, partition, journal)
            for header in journal.log.headers(journal.log.end_offset - 1):
                # Of the last batch itself: an index may have been damaged by a crash.
                self._clock.not_before(header.max_timestamp)
        doubt = partial(self._doubts.raise_for, data)
        partition.on_damage = partition.reader.on_damage = doubt
        if partition.journal is not None and journal is not None:
            partition.journal.on_damage = partial(self._doubts.raise_for, journal)
        await open_state(partition, config, self._broker.flusher, self._clock.now_ms())
        partition.on_damage = pass_over
        if partition.journal is not None:
            partition.journal.on_damage = pass_over
        if queue.config is not config:
            # It was changed meanwhile.
            partition.delivery.rules = rules_of(queue.config)
            recall_deduplication(partition, queue.config, self._clock.now_ms())
        return partition

    def _attach(self, queue: Queue, partition: QueuePartition, companion: Partition) -> None:
        journal = Journal(companion, partition.data, self._clock, self._turn)
        partition.attach(journal, partial(self._recall, queue, partition))

    def _recall(self, queue: Queue, partition: QueuePartition) -> None:
        """What was decided could not be written down, so it is found out again."""
        if partition.is_gone:
            return
        try:
            recover(partition, queue.config, self._clock.now_ms())
        except OSError as error:
            self._broker.flusher.give_up(error)
        self._owner.recalled(partition)

    def _leads(self, half: Partition | None) -> bool:
        """Also while the node is suspended: then it will go on where it was, or leave."""
        return half is None or (half.leader == self._broker.node_id and not half.is_following)

    def _data_of(self, queue: Queue, index: int) -> Partition | None:
        topic_id = queue.entry.topic_id
        topic = queue.topic_name if topic_id is None else topic_id.bytes
        return self._broker.routes.get((topic, index))

    def _journal_of(self, queue: Queue, index: int) -> Partition | None:
        """By its topic's id: that of a deleted queue of this name may still be there."""
        return self._broker.routes.get((queue.entry.journal_id.bytes, index))

    def _has_journal_elsewhere(self, queue: Queue, index: int) -> bool:
        """Without which it would be taken for a queue of which nothing was ever received."""
        topic = self._broker.catalog.topics.get(queue_state_topic(queue.entry.name))
        if topic is None or topic.id != queue.entry.journal_id:
            return False
        return index < topic.partitions
