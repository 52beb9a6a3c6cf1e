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


class Sending:
    def __init__(self, queue: QueueState) -> None:
        self._queue = queue
        self._turn = 0
        """Where the next message without a group goes."""

    def send(
        self,
        messages: Sequence[Outgoing],
        done: Callable[[list[Sent | Refusal] | Refusal], None],
    ) -> None:
        """Answered once all of them are as durable as the queue asks."""
        if self._queue.is_gone:
            done(gone())
            return
        now_ms = self._queue.clock.now_ms()
        results: list[Sent | Refusal] = []
        commits = Commits(lambda failure: done(failure or results))
        if len(messages) == 1:
            results.append(self._send_one(messages[0], now_ms, commits))
        else:
            self._send_several(messages, now_ms, commits, results)
        commits.close()

    def _send_one(self, message: Outgoing, now_ms: int, commits: Commits) -> Sent | Refusal:
        try:
            arrival, partition = self._arrival(message, now_ms)
            if arrival.key is not None:
                known = self._find_duplicate(arrival.key, now_ms)
                if known is not None:
                    # Whoever sent it first may still be waiting for the disk.
                    commits.add(known[0].data, known[1] + 1)
                    return self._sent(*known)
            offset, end_offset = partition.append((arrival,), now_ms)
        except Refusal as refusal:
            return refusal
        commits.add(partition.data, end_offset)
        return self._sent(partition, offset)

    def _send_several(
        self,
        messages: Sequence[Outgoing],
        now_ms: int,
        commits: Commits,
        results: list[Sent | Refusal],
    ) -> None:
        """One batch of records for each partition; a standard queue takes only one."""
        plans: dict[QueuePartition, list[Arrival]] = {}
        keys: dict[bytes, tuple[QueuePartition, int]] = {}
        """Of this very request, by where the message will be."""
        places: list[tuple[QueuePartition, int]] = []
        shared: QueuePartition | None = None
        for message in messages:
            arrival, partition = self._arrival(message, now_ms)
            if arrival.group is None or not self._queue.config.fifo:
                partition = shared = shared or partition
            if arrival.key is not None:
                known = keys.get(arrival.key) or self._find_duplicate(arrival.key, now_ms)
                if known is not None:
                    commits.add(known[0].data, min(known[1] + 1, known[0].data.log.end_offset))
                    places.append(known)
                    continue
            plan = plans.setdefault(partition, [])
            place = partition, partition.data.log.staged_end_offset + len(plan)
            plan.append(arrival)
            places.append(place)
            if arrival.key is not None:
                keys[arrival.key] = place
        failed: dict[QueuePartition, tuple[int, Refusal]] = {}
        for partition, plan in plans.items():
            first_offset = partition.data.log.staged_end_offset
            try:
                _, end_offset = partition.append(plan, now_ms)
                commits.add(partition.data, end_offset)
            except Refusal as refusal:
                failed[partition] = first_offset, refusal
        for partition, offset in places:
            if partition in failed and offset >= failed[partition][0]:
                results.append(failed[partition][1])
            else:
                results.append(self._sent(partition, offset))

    def _arrival(self, message: Outgoing, now_ms: int) -> tuple[Arrival, QueuePartition]:
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
        return Arrival(record, group, due_ms, key), self.partition_for(group)

    def partition_for(self, group: bytes | None) -> QueuePartition:
        partitions = self._queue.partitions
        if len(partitions) == 1:
            return partitions[0]
        if self._queue.config.fifo:
            for partition in partitions:
                # After growing: a group stays until its old partition has nothing of it left.
                if partition.delivery.has_group(group or b""):
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
        commits = Commits(done)
        plans: dict[QueuePartition, list[Arrival]] = {}
        for record in records:
            group = group_of(record, fifo=self._queue.config.fifo)
            key = None
            if self._queue.config.fifo:
                key = moved_key(record)
                known = None if key is None else self._find_duplicate(key, now_ms)
                if known is not None:
                    commits.add(known[0].data, known[1] + 1)
                    continue
            plans.setdefault(self.partition_for(group), []).append(Arrival(record, group, 0, key))
        for partition, arrivals in plans.items():
            try:
                _, end_offset = partition.append(arrivals, now_ms)
            except Refusal as refusal:
                done(refusal)
                return
            commits.add(partition.data, end_offset)
        commits.close()

    def _sent(self, partition: QueuePartition, offset: int) -> Sent:
        number = sequence_number(partition.data.index, offset) if self._queue.config.fifo else None
        return Sent(partition.ids.of(offset), number)
