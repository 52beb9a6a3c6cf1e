"""Sends to a queue: gathers them per turn, deduplicates, places and appends messages."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from hashlib import sha256
from itertools import chain, islice
from typing import NamedTuple

import msgspec

from duolog.broker.queues.commits import Commits, Settled, when_committed
from duolog.broker.queues.identities import sequence_number
from duolog.broker.queues.plans import Failures, Place, Plans
from duolog.broker.queues.queue_partition import QueuePartition, Trait, not_led
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.core.queues.deduplication import deduplication_key
from duolog.core.queues.message import Outgoing, group_of, moved_key, to_record
from duolog.core.queues.routing import partition_for_group
from duolog.model.errors import Refusal
from duolog.records.record import Record
from duolog.wire.sqs.digests import md5_of_bodies


class Sent(msgspec.Struct, frozen=True, gc=False):
    message_id: str
    body_md5: str
    sequence_number: str | None = None


class SentRun(NamedTuple):
    """Results of consecutive messages that were all sent, in columns."""

    message_ids: Sequence[str]
    body_md5s: Sequence[str]


SendDone = Callable[[list[Sent | Refusal] | Refusal], None]
SendPlainDone = Callable[[SentRun | list[Sent | Refusal] | Refusal], None]

Gathered = tuple[Sequence[Outgoing], SendDone]
GatheredBodies = tuple[Sequence[bytes], SendPlainDone]


class Sending:
    __slots__ = ("_gathered", "_gathered_bodies", "_queue", "_turn")

    def __init__(self, queue: QueueState) -> None:
        self._queue = queue
        self._gathered: list[Gathered] = []
        self._gathered_bodies: list[GatheredBodies] = []
        self._turn = 0
        """Rotates the partition of the next message without a group."""

    def send(self, messages: Sequence[Outgoing], done: SendDone) -> None:
        """Sends messages; answers with a result for each, once all are committed."""
        if self._queue.is_gone:
            done(gone())
            return
        if not self._gathered:
            self._queue.turn.gather(self)
        self._gathered.append((messages, done))

    def send_plain(self, bodies: Sequence[bytes], done: SendPlainDone) -> None:
        """Sends plain messages, which have only a body."""
        if self._queue.is_gone:
            done(gone())
            return
        if not self._gathered_bodies:
            self._queue.turn.gather(self)
        self._gathered_bodies.append((bodies, done))

    def flush(self) -> None:
        """Appends the messages of this turn: plain ones first, in a batch of their own."""
        gathered, self._gathered = self._gathered, []
        gathered_bodies, self._gathered_bodies = self._gathered_bodies, []
        queue = self._queue
        config = queue.config
        now_ms = queue.clock.now_ms()
        if (
            len(queue.partitions) != 1
            or not queue.has_all_partitions
            or config.fifo
            or config.delay_seconds
        ):
            for bodies, done in gathered_bodies:
                gathered.append(([Outgoing(body.decode()) for body in bodies], done))
            gathered_bodies = []
        if not queue.has_all_partitions:
            gathered = self._placeable(gathered, now_ms)
        if gathered_bodies:
            self._append_plain(gathered_bodies, now_ms)
        if gathered:
            self._append(gathered, now_ms)

    def _append_plain(self, gathered: Sequence[GatheredBodies], now_ms: int) -> None:
        """Appends plain messages to the only partition, and answers."""
        partition = self._queue.partitions[0]
        bodies = list(chain.from_iterable(each for each, _ in gathered))
        first_offset = partition.data.log.end_offset
        run = range(first_offset, first_offset + len(bodies))
        refusal = None
        try:
            partition.append(bodies, {}, now_ms)
        except Refusal as refused:
            refusal = refused.with_traceback(None)
        self._answer_run(run, md5_of_bodies(bodies), gathered, refusal)

    def _append(self, gathered: Sequence[Gathered], now_ms: int) -> None:
        """Places messages, appends them partition by partition, and answers."""
        plans = Plans()
        place = self._place_once if self._queue.config.fifo else self._place
        placed = [
            ([place(message, plans, now_ms) for message in messages], done)
            for messages, done in gathered
        ]
        failed = plans.append(now_ms)
        digests = iter(
            md5_of_bodies([each.body.encode() for messages, _ in gathered for each in messages])
        )
        for places, tell in placed:
            self._answer(places, islice(digests, len(places)), failed, tell)

    def _placeable(self, gathered: Sequence[Gathered], now_ms: int) -> list[Gathered]:
        """Refuses sends with messages for partitions led elsewhere; returns the others."""
        placeable = []
        for messages, done in gathered:
            if all(self._is_message_for_here(each, now_ms) for each in messages):
                placeable.append((messages, done))
            else:
                done(not_led())
        return placeable

    def _is_message_for_here(self, message: Outgoing, now_ms: int) -> bool:
        group = (message.group_id or "").encode()
        return self._is_for_here(
            group, lambda: self._key_of(self._with_key(message), group), now_ms
        )

    def _is_for_here(self, group: bytes, key: Callable[[], bytes | None], now_ms: int) -> bool:
        """True if the message belongs to a partition here: by its group, by the group's hash, or
        as a duplicate of a message that came before the group's home moved elsewhere."""
        partitions = self._queue.partitions
        if not partitions or not self._queue.config.fifo:
            return bool(self._queue.open_partitions)
        if self._has_group(group) or self._home_of(group) is not None:
            return True
        known = key()
        return known is not None and self._find_duplicate(known, now_ms) is not None

    def _has_group(self, group: bytes) -> bool:
        return any(partition.has_group(group) for partition in self._queue.partitions)

    def _home_of(self, group: bytes) -> QueuePartition | None:
        """The partition that the group's hash names; None if it is not served here."""
        return self._queue.partition(partition_for_group(group, self._queue.open_partition_count))

    def knows(self, message: Outgoing, partition: QueuePartition) -> bool:
        """True if a FIFO queue's partition has messages of this group, or had this message."""
        group = (message.group_id or "").encode()
        return self._knows(partition, group, self._key_of(self._with_key(message), group))

    def knows_record(self, record: Record, partition: QueuePartition) -> bool:
        """Does the same as `knows`, for a message moved from another queue."""
        return self._knows(partition, group_of(record, fifo=True) or b"", moved_key(record))

    def _knows(self, partition: QueuePartition, group: bytes, key: bytes | None) -> bool:
        if partition.has_group(group):
            return True
        now_ms = self._queue.clock.now_ms()
        return key is not None and partition.deduplication.find(key, now_ms) is not None

    def _place(self, message: Outgoing, plans: Plans, now_ms: int) -> Place:
        """Plans a message of a standard queue; returns its place."""
        delay_s = message.delay_seconds
        if delay_s is None:
            delay_s = self._queue.config.delay_seconds
        if not delay_s and message.is_plain:
            partitions = self._queue.partitions
            partition = partitions[0] if len(partitions) == 1 else self._next_partition()
            return plans.add(partition, message.body.encode())
        delay_ms = delay_s * 1000
        group = None if message.group_id is None else message.group_id.encode()
        record = to_record(message, fifo=False, delay_ms=delay_ms, now_ms=now_ms)
        trait = Trait(group, now_ms + delay_ms if delay_ms else 0)
        return plans.add(self._next_partition(), record, trait)

    def _place_once(self, message: Outgoing, plans: Plans, now_ms: int) -> Place:
        """Plans a message of a FIFO queue; returns its place, or that of the one it duplicates."""
        config = self._queue.config
        group = None if message.group_id is None else message.group_id.encode()
        message = self._with_key(message)
        key = self._key_of(message, group)
        if key is not None:
            known = plans.keys.get(key) or self._find_duplicate(key, now_ms)
            if known is not None:
                return known
        delay_s = message.delay_seconds
        delay_ms = (config.delay_seconds if delay_s is None else delay_s) * 1000
        record = to_record(message, fifo=True, delay_ms=delay_ms, now_ms=now_ms)
        trait = Trait(group, now_ms + delay_ms if delay_ms else 0, key)
        return plans.add(self._partition_of(group), record, trait)

    def _with_key(self, message: Outgoing) -> Outgoing:
        """Adds a content-based deduplication id, if the queue asks for it and there is none."""
        if message.deduplication_id is None and self._queue.config.content_based_deduplication:
            digest = sha256(message.body.encode()).hexdigest()
            return msgspec.structs.replace(message, deduplication_id=digest)
        return message

    def _key_of(self, message: Outgoing, group: bytes | None) -> bytes | None:
        if message.deduplication_id is None:
            return None
        is_by_group = self._queue.config.deduplication_scope == "messageGroup"
        return deduplication_key(message.deduplication_id.encode(), group if is_by_group else None)

    def _answer_run(
        self,
        run: range,
        digests: Sequence[str],
        gathered: Sequence[GatheredBodies],
        refusal: Refusal | None,
    ) -> None:
        """Answers the senders of a turn's plain messages, which have consecutive offsets."""
        partition = self._queue.partitions[0]
        data = partition.data
        ids = partition.ids.of_run(run)
        written = len(run) if refusal is None else data.log.end_offset - run.start
        first = 0
        for bodies, done in gathered:
            last = first + len(bodies)
            sent = SentRun(ids[first:last], digests[first:last])
            results: SentRun | list[Sent | Refusal] = sent
            if refusal is not None and last > written:
                results = [Sent(*each) for each in zip(*sent, strict=True)]
                results[max(written - first, 0) :] = [refusal] * (last - max(written, first))
            if first < written:
                answer = partial(_tell, done, results)
                when_committed(data, run.start + min(last, written), answer)
            else:
                done(results)
            first = last

    def _answer(
        self, places: Sequence[Place], digests: Iterable[str], failed: Failures, done: SendDone
    ) -> None:
        results: list[Sent | Refusal] = []
        commits: Commits | None = None
        is_fifo = self._queue.config.fifo
        for (partition, offset), digest in zip(places, digests, strict=True):
            if failed:
                failure = failed.get(partition)
                if failure is not None and offset >= failure[0]:
                    results.append(failure[1])
                    continue
            data = partition.data
            number = sequence_number(data.index, offset) if is_fifo else None
            results.append(Sent(partition.ids.of(offset), digest, number))
            # Also for a duplicate, whose original may not be committed yet.
            if data.high_watermark <= offset:
                commits = commits or Commits(lambda failure: done(failure or results))
                commits.add(data, data.log.end_offset)
        if commits is None:
            done(results)
        else:
            commits.close()

    def _next_partition(self) -> QueuePartition:
        partitions = self._queue.open_partitions
        if len(partitions) == 1:
            return partitions[0]
        self._turn += 1
        return partitions[self._turn % len(partitions)]

    def _partition_of(self, group: bytes | None) -> QueuePartition:
        """Partition of a FIFO queue that takes the group's messages."""
        partitions = self._queue.partitions
        if len(partitions) == 1 and self._queue.has_all_partitions:
            return partitions[0]
        for partition in reversed(partitions):
            # After growth, a group stays in its old partition until that has none of it left.
            if partition.has_group(group or b""):
                return partition
        home = self._home_of(group or b"")
        assert home is not None, "messages for other nodes were refused before"
        return home

    def _find_duplicate(self, key: bytes, now_ms: int) -> tuple[QueuePartition, int] | None:
        for partition in self._queue.partitions:
            offset = partition.deduplication.find(key, now_ms)
            if offset is not None:
                return partition, offset
        return None

    def accept(self, records: Sequence[Record], done: Settled) -> None:
        """Appends messages moved from another queue; a FIFO queue drops duplicates."""
        now_ms = self._queue.clock.now_ms()
        is_fifo = self._queue.config.fifo
        if not self._queue.has_all_partitions and not all(
            self._is_for_here(
                group_of(record, fifo=True) or b"", partial(moved_key, record), now_ms
            )
            for record in records
        ):
            done(not_led())
            return
        plans = Plans()
        places = []
        for record in records:
            group = group_of(record, fifo=is_fifo)
            key = moved_key(record) if is_fifo else None
            known = None if key is None else self._find_duplicate(key, now_ms)
            if known is None:
                partition = self._partition_of(group) if is_fifo else self._next_partition()
                known = plans.add(partition, record, Trait(group, 0, key))
            places.append(known)
        for _, failure in plans.append(now_ms).values():
            done(failure)
            return
        commits = Commits(done)
        for partition, offset in places:
            commits.add(partition.data, offset + 1)
        commits.close()


def _tell(
    done: SendPlainDone, results: SentRun | list[Sent | Refusal], failure: Refusal | None
) -> None:
    done(failure or results)
