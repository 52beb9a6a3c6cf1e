"""Operations on all messages of a queue, on all nodes: purge, replay, counts, peeking.

Each partition is addressed individually, so that none is missed or counted twice while leaders
change.
"""

import asyncio
from abc import ABC
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from duolog.broker.queues import peeking
from duolog.broker.queues.commits import committed, settle_future
from duolog.broker.queues.peeking import Page, Peeked
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.registry import QueueRegistry
from duolog.broker.queues.replaying import replays
from duolog.broker.queues.routing.links import QueueLink
from duolog.broker.queues.routing.requests import Level
from duolog.broker.queues.routing.served_queue import ServedQueue, level_of, total_of
from duolog.records.changes import Cause, Change, Trimmed


class QueueContents(QueueRegistry, ABC):
    async def purge_all(self, queue: Queue) -> int:
        """Deletes all present messages; returns their number."""
        purged: list[int] = await self._of_each(queue, lambda link, some: link.purge(some))
        return sum(purged)

    async def purge_partition(self, queue: Queue, partition: QueuePartition) -> int:
        await self.journaled(queue)
        purged = sum(level_of(partition, self.clock.now_ms())[:3])
        # Not up to the log's end: messages not committed yet are acknowledged after this purge.
        end_offset = partition.delivery.end_offset
        while partition.delivery.low_offset() < end_offset:
            before_offset = partition.delivery.trimmable_to(end_offset)
            await self._commit(partition, Trimmed(before_offset, Cause.PURGED))
        self.count_messages(queue.entry.name, "expire", purged)
        return purged

    async def replay(self, name: str, from_ms: int, to_ms: int) -> int:
        """Makes deleted messages sent in that time range ready again; returns their number."""
        queue = self.local(name)
        replayed: list[int] = await self._of_each(
            queue, lambda link, some: link.replay(some, from_ms, to_ms)
        )
        return sum(replayed)

    async def level(self, name: str) -> Level:
        """Counts the queue's messages, over all nodes."""
        queue = self.local(name)
        return total_of(await self._of_each(queue, lambda link, some: link.levels(some)))

    async def look(
        self, name: str, *, partition: int, from_offset: int, limit: int, state: str | None
    ) -> Page:
        """Peeks at the messages of a partition, in order, without receiving them."""
        queue = self.get(name)
        if isinstance(queue, Queue):
            return peeking.look(
                queue, partition=partition, from_offset=from_offset, limit=limit, state=state
            )
        return await queue.look(
            partition=partition, from_offset=from_offset, limit=limit, state=state
        )

    async def find_message(self, name: str, message_id: str) -> Peeked | None:
        queue = self.local(name)
        found: list[Peeked | None] = await self._of_each(
            queue, lambda link, some: link.find(some, message_id)
        )
        return next((each for each in found if each is not None), None)

    async def _of_each(
        self,
        queue: Queue,
        ask: Callable[[QueueLink, Sequence[int]], Coroutine[Any, Any, Sequence[Any]]],
    ) -> Any:
        """Collects the answer of each partition's leader."""
        if queue.state.has_all_partitions:
            return await ask(ServedQueue(queue, self), range(len(queue.partitions)))
        return await self._routed[queue].of_each(ask)

    async def replay_partition(
        self, queue: Queue, partition: QueuePartition, from_ms: int, to_ms: int
    ) -> int:
        await self.journaled(queue)
        before = sum(level_of(partition, self.clock.now_ms())[:3])
        await self._replay(partition, from_ms, to_ms)
        queue.serve_parked()
        return sum(level_of(partition, self.clock.now_ms())[:3]) - before

    async def _replay(self, partition: QueuePartition, from_ms: int, to_ms: int) -> None:
        """Replays a time range. Uses the log's time index, so it is exact to the millisecond."""
        kept = partition.data.log
        now_ms = self.clock.now_ms()
        end_offset = partition.delivery.end_offset
        first = await self.broker.disk.offload(kept.timestamp_search(from_ms))
        following = await self.broker.disk.offload(kept.timestamp_search(to_ms))
        first_offset = end_offset if first is None else first[0]
        next_offset = end_offset if following is None else min(following[0], end_offset)
        for change in replays(partition, first_offset, next_offset, now_ms):
            await self._commit(partition, change)
        self.rearm(partition)

    async def _commit(self, partition: QueuePartition, change: Change) -> None:
        end_offset = partition.change(change)
        assert partition.journal is not None
        await committed(partition.journal.partition, end_offset)

    async def journaled(self, queue: Queue) -> None:
        """Waits until the queue's partitions have their journals."""
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open_journals(queue.state, partial(settle_future, opened))
        await opened
