"""The part of a queue that this node leads, as the front ends of all nodes use it."""

import asyncio
from collections.abc import Sequence
from typing import Any, Protocol

from duolog.broker.queues import peeking
from duolog.broker.queues.peeking import Page, Peeked
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition, not_led
from duolog.broker.queues.receiving import Received
from duolog.broker.queues.routing.links import ANY_REVISION, Answer, Results, Settled
from duolog.broker.queues.routing.requests import Level
from duolog.core.queues.message import Outgoing
from duolog.model.errors import Refusal
from duolog.records.record import Record

ANSWER_BYTES_MAX = 16 << 20
"""Maximum size of a receive's answer, unless a single message is larger."""


class LocalDuties(Protocol):
    """Operations on the partitions of a queue that this node leads."""

    async def purge_partition(self, queue: Queue, partition: QueuePartition) -> int: ...

    async def replay_partition(
        self, queue: Queue, partition: QueuePartition, from_ms: int, to_ms: int
    ) -> int: ...

    async def move_local(self, queue: Queue, destination: str | None, count: int) -> int: ...


class ServedQueue:
    """A QueueLink to the part of a queue that this node leads."""

    def __init__(self, queue: Queue, duties: LocalDuties) -> None:
        self._queue = queue
        self._duties = duties

    async def send(
        self,
        messages: Sequence[Outgoing],
        *,
        topic_revision: int = ANY_REVISION,
        only_known_to: int | None = None,
    ) -> Results:
        self._check(topic_revision)
        wanted = [True] * len(messages)
        if only_known_to is not None:
            (partition,) = self._served([only_known_to])
            wanted = [self._queue.knows(message, partition) for message in messages]
        sent = [message for message, is_wanted in zip(messages, wanted, strict=True) if is_wanted]
        results: list[Any] = []
        if sent:
            answer = Answer()
            self._queue.send(sent, answer.tell)
            results = await answer
        taken = iter(results)
        return [next(taken) if is_wanted else None for is_wanted in wanted]

    async def accept(
        self,
        records: Sequence[Record],
        *,
        topic_revision: int = ANY_REVISION,
        only_known_to: int | None = None,
    ) -> list[bool | Refusal]:
        self._check(topic_revision)
        wanted = [True] * len(records)
        if only_known_to is not None:
            (partition,) = self._served([only_known_to])
            wanted = [self._queue.knows_record(record, partition) for record in records]
        taken = [record for record, is_wanted in zip(records, wanted, strict=True) if is_wanted]
        if taken:
            answer = Answer()
            self._queue.accept(taken, answer.tell)
            await answer
        return list(wanted)

    async def receive(
        self, count: int, visibility_ms: int | None, attempt: str | None, *, only_known: bool
    ) -> list[Received]:
        if only_known and not self._queue.knows_attempt(attempt or ""):
            return []
        answer = Answer()
        receive = self._queue.receive(
            count=count,
            wait_ms=0,
            visibility_ms=visibility_ms,
            attempt=attempt,
            done=answer.tell,
            bytes_max=ANSWER_BYTES_MAX,
        )
        try:
            received: list[Received] = await answer
        except asyncio.CancelledError:
            receive.abandon()
            raise
        return received

    async def watch(self, wait_ms: int) -> bool:
        if not self._queue.partitions:
            raise not_led()
        answer = Answer()

        def watcher() -> None:
            answer.tell(True)

        self._queue.watch(watcher)
        try:
            async with asyncio.timeout(wait_ms / 1000):
                return bool(await answer)
        except TimeoutError:
            return False
        finally:
            self._queue.unwatch(watcher)

    async def delete(self, handles: Sequence[str]) -> Settled:
        answer = Answer()
        self._queue.delete(handles, answer.tell)
        return list(await answer)

    async def change_visibility(self, changes: Sequence[tuple[str, int]]) -> Settled:
        answer = Answer()
        self._queue.change_visibility(changes, answer.tell)
        return list(await answer)

    async def levels(self, partitions: Sequence[int]) -> list[Level]:
        now_ms = self._queue.state.clock.now_ms()
        return [level_of(each, now_ms) for each in self._served(partitions)]

    async def purge(self, partitions: Sequence[int]) -> list[int]:
        purge = self._duties.purge_partition
        return [await purge(self._queue, each) for each in self._served(partitions)]

    async def replay(self, partitions: Sequence[int], from_ms: int, to_ms: int) -> list[int]:
        replay = self._duties.replay_partition
        served = self._served(partitions)
        return [await replay(self._queue, each, from_ms, to_ms) for each in served]

    async def look(self, partition: int, from_offset: int, limit: int, state: str | None) -> Page:
        return peeking.look(
            self._queue, partition=partition, from_offset=from_offset, limit=limit, state=state
        )

    async def find(self, partitions: Sequence[int], message_id: str) -> list[Peeked | None]:
        now_ms = self._queue.state.clock.now_ms()
        return [peeking.find(each, message_id, now_ms) for each in self._served(partitions)]

    def _check(self, topic_revision: int) -> None:
        """Raises NotLeader unless both nodes know the same revision; the sender asks again."""
        if topic_revision not in (ANY_REVISION, self._queue.state.topic_revision):
            raise not_led()

    def _served(self, partitions: Sequence[int]) -> list[QueuePartition]:
        """Partitions by index; raises NotLeader unless all of them are served here."""
        found = [self._queue.partition(index) for index in partitions]
        served = [each for each in found if each is not None]
        if len(served) < len(partitions):
            raise not_led()
        return served

    async def move(self, destination: str | None, count: int) -> int:
        return await self._duties.move_local(self._queue, destination, count)


def level_of(partition: QueuePartition, now_ms: int) -> Level:
    delivery = partition.delivery
    return Level(
        delivery.ready_count,
        delivery.in_flight_count,
        delivery.delayed_count,
        delivery.oldest_sent_ms(),
        partition.data.high_watermark - partition.data.log.start_offset,
        bool(delivery.choose(1, now_ms)),
    )


def total_of(levels: Sequence[Level]) -> Level:
    oldest = [each.oldest_sent_ms for each in levels if each.oldest_sent_ms is not None]
    return Level(
        sum(each.ready for each in levels),
        sum(each.in_flight for each in levels),
        sum(each.delayed for each in levels),
        min(oldest, default=None),
        sum(each.records for each in levels),
        any(each.has_any for each in levels),
    )
