"""Creates the journal topics of queues, on their first change of delivery state."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from duolog.broker.broker import Broker
from duolog.broker.queues.catalog_entries import queue_key
from duolog.broker.queues.queue_partition import not_led
from duolog.broker.queues.queue_state import QueueState, gone
from duolog.broker.queues.topics import journal_overrides
from duolog.model.errors import (
    InvalidPartitions,
    Refusal,
    RequestTimedOut,
    StorageFailed,
    TopicExists,
)
from duolog.model.names import queue_state_topic
from duolog.ports.metastore import Compare

Opened = Callable[[Refusal | None], None]

LOOK_S = 0.02
LOOKS_MAX = 300
"""Maximum number of looks: other nodes may be creating the topic, or briefly lead it."""
LOOKS_AT_ONCE = 50
"""First looks without a pause: on a sole node, only its own catalog has to catch up."""


class JournalTopics:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._openings: dict[QueueState, list[Opened]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        """Number of queues whose journals are being created."""
        return len(self._openings)

    def open(self, queue: QueueState, opened: Opened) -> None:
        """Calls back once every partition of the queue served here has its journal."""
        if queue.has_journals:
            opened(None)
            return
        waiting = self._openings.get(queue)
        if waiting is None:
            self._openings[queue] = [opened]
            task = asyncio.ensure_future(self._open(queue))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            waiting.append(opened)

    async def settled(self, queue: QueueState) -> None:
        """Waits until no journals of the queue are being created."""
        if queue in self._openings:
            done = asyncio.Event()
            self._openings[queue].append(lambda failure: done.set())
            await done.wait()

    def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()

    async def _open(self, queue: QueueState) -> None:
        failure: Refusal | None = None
        try:
            await self._make(queue)
        except Refusal as refusal:
            failure = refusal
        finally:
            waiting = self._openings.pop(queue)
            if failure is None and not queue.has_journals:
                failure = StorageFailed("the queue's journal could not be opened")
            for opened in waiting:
                opened(failure)

    async def _make(self, queue: QueueState) -> None:
        """Creates or grows the journal topic, until all partitions here have their journals.

        Journals are attached when this node begins to lead them (see serving.py).
        """
        name = queue_state_topic(queue.entry.name)
        for look in range(LOOKS_MAX):
            if queue.is_gone:
                raise gone()
            if not queue.partitions:
                raise not_led()
            if queue.has_journals:
                return
            data = queue.partitions[0].data.topic
            topic = self._broker.catalog.topics.get(name)
            # The catalog may not show yet a partition that this node has opened already.
            wanted = max(data.partitions, queue.partitions[-1].data.index + 1)
            if topic is None:
                with suppress(TopicExists):
                    await self._broker.catalog.create_topic(
                        name,
                        wanted,
                        journal_overrides(data.config),
                        beside=data.name,
                        topic_id=queue.entry.journal_id,
                        given=partial(_is_there, queue),
                    )
                    continue
            elif topic.id == queue.entry.journal_id and topic.partitions < wanted:
                with suppress(InvalidPartitions):
                    await self._broker.catalog.create_partitions(name, wanted)
                    continue
            # Another node was quicker, or still leads the journals, or has yet to remove those of
            # a deleted queue of this name.
            await asyncio.sleep(0 if look < LOOKS_AT_ONCE else LOOK_S)
        raise RequestTimedOut("the queue's journal could not be opened in time")


def _is_there(queue: QueueState) -> Compare:
    """Condition that the queue still exists: a deleted queue's journal would block the topic of
    the next one of its name."""
    if queue.is_gone:
        raise gone()
    return Compare(queue_key(queue.entry.name), queue.entry.mod_revision)
