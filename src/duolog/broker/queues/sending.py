"""How messages come into a queue: from its producers, and from other queues."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from duolog.broker.queues.commits import Commits, Settled
from duolog.broker.queues.identities import sequence_number
from duolog.broker.queues.queue_partition import Arrival, QueuePartition
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.core.queues.deduplication import deduplication_key
from duolog.core.queues.message import Outgoing, group_of, moved_key, to_record
from duolog.core.queues.routing import partition_for_group
from duolog.model.errors import Refusal
from duolog.records.record import Record


class Sent(NamedTuple):
    message_id: str
    sequence_number: str | None


SendDone = Callable[[list[Sent | Refusal] | Refusal], None]

Place = tuple[QueuePartition, int]
"""Of a message: its partition, and its offset there."""

Failures = dict[QueuePartition, tuple[int, Refusal]]
"""From which offset on nothing was written, and why."""


class Plans:
    """What is to be appended to which partition."""

    def __init__(self) -> None:
        self._arrivals: dict[QueuePartition, list[Arrival]] = {}
        self.keys: dict[bytes, Place] = {}
        """What the messages planned so far are recognised by."""

    def add(self, partition: QueuePartition, arrival: Arrival) -> Place:
        plan = self._arrivals.setdefault(partition, [])
        # Nobody else writes before this plan is carried out.
        place = partition, partition.data.log.staged_end_offset + len(plan)
        plan.append(arrival)
        if arrival.key is not None:
            self.keys[arrival.key] = place
        return place

    def append(self, now_ms: int) -> Failures:
        failed: Failures = {}
        for partition, arrivals in self._arrivals.items():
            try:
                partition.append(arrivals, now_ms)
            except Refusal as refusal:
                failed[partition] = partition.data.log.end_offset, refusal.with_traceback(None)
        return failed


class Sending:
    def __init__(self, queue: QueueState) -> None:
        self._queue = queue
        self._gathered: list[tuple[Sequence[Outgoing], SendDone]] = []
        self._turn = 0
        """Where the next message without a group goes."""

    def send(self, messages: Sequence[Outgoing], done: SendDone) -> None:
        """Answered once all of them are as durable as the queue asks."""
        if self._queue.is_gone:
            done(gone())
            return
        if not self._gathered:
            self._queue.turn.send(self)
        self._gathered.append((messages, done))

    def flush(self) -> None:
        """Append what was sent in this turn: one batch of records for each partition."""
        gathered, self._gathered = self._gathered, []
        now_ms = self._queue.clock.now_ms()
        plans = Plans()
        placed = [
            ([self._place(message, plans, now_ms) for message in messages], done)
            for messages, done in gathered
        ]
        failed = plans.append(now_ms)
        for places, done in placed:
            self._answer(places, failed, done)

    def _place(self, message: Outgoing, plans: Plans, now_ms: int) -> Place:
        """Where the message will be, or has been since it was first sent."""
        arrival = self._arrival(message, now_ms)
        if arrival.key is not None:
            known = plans.keys.get(arrival.key) or self._find_duplicate(arrival.key, now_ms)
            if known is not None:
                return known
        return plans.add(self.partition_for(arrival.group), arrival)

    def _answer(self, places: Sequence[Place], failed: Failures, done: SendDone) -> None:
        results: list[Sent | Refusal] = []
        commits: Commits | None = None
        for partition, offset in places:
            failure = failed.get(partition)
            if failure is not None and offset >= failure[0]:
                results.append(failure[1])
                continue
            results.append(self._sent(partition, offset))
            # Whoever sent a known message first may still be waiting for the disk, too.
            if partition.data.high_watermark <= offset:
                commits = commits or Commits(lambda failure: done(failure or results))
                commits.add(partition.data, partition.data.log.end_offset)
        if commits is None:
            done(results)
        else:
            commits.close()

    def _arrival(self, message: Outgoing, now_ms: int) -> Arrival:
        config = self._queue.config
        key = None
        group = None
        if message.group_id is not None:
            group = message.group_id.encode()
        if config.fifo:
            if message.deduplication_id is None and config.content_based_deduplication:
                digest = sha256(message.body.encode()).hexdigest()
                message = message._replace(deduplication_id=digest)
            if message.deduplication_id is not None:
                is_by_group = config.deduplication_scope == "messageGroup"
                key = deduplication_key(
                    message.deduplication_id.encode(), group if is_by_group else None
                )
        delay_s = message.delay_seconds
        delay_ms = (config.delay_seconds if delay_s is None else delay_s) * 1000
        record = to_record(message, fifo=config.fifo, delay_ms=delay_ms, now_ms=now_ms)
        due_ms = now_ms + delay_ms if delay_ms else 0
        return Arrival(record, group, due_ms, key)

    def partition_for(self, group: bytes | None) -> QueuePartition:
        partitions = self._queue.partitions
        if len(partitions) == 1:
            return partitions[0]
        if self._queue.config.fifo:
            for partition in reversed(partitions):
                # After growing: a group stays until its old partition has nothing of it left.
                if partition.has_group(group or b""):
                    return partition
            return partitions[partition_for_group(group or b"", len(partitions))]
        self._turn += 1
        return partitions[self._turn % len(partitions)]

    def _find_duplicate(self, key: bytes, now_ms: int) -> tuple[QueuePartition, int] | None:
        for partition in self._queue.partitions:
            offset = partition.deduplication.find(key, now_ms)
            if offset is not None:
                return partition, offset
        return None

    def accept(self, records: Sequence[Record], done: Settled) -> None:
        """Take in messages that come from another queue, each once."""
        now_ms = self._queue.clock.now_ms()
        plans = Plans()
        places = []
        for record in records:
            group = group_of(record, fifo=self._queue.config.fifo)
            key = moved_key(record) if self._queue.config.fifo else None
            known = None if key is None else self._find_duplicate(key, now_ms)
            if known is None:
                known = plans.add(self.partition_for(group), Arrival(record, group, 0, key))
            places.append(known)
        for _, failure in plans.append(now_ms).values():
            done(failure)
            return
        commits = Commits(done)
        for partition, offset in places:
            commits.add(partition.data, offset + 1)
        commits.close()

    def _sent(self, partition: QueuePartition, offset: int) -> Sent:
        number = sequence_number(partition.data.index, offset) if self._queue.config.fifo else None
        return Sent(partition.ids.of(offset), number)
