"""Makes the decisions of groups durable: one write at a time for each partition of the store.

What is decided while a write is under way goes into the next one together, so that many
small commits share one batch and one sync.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from duolog.broker.groups.offset_store import KeyValue, OffsetStore
from duolog.core.groups.formats import encode
from duolog.core.groups.messages import Write
from duolog.model.errors import CoordinatorNotAvailable, Refusal
from duolog.observe.logs import get_logger

log = get_logger("groups")

WRITES_TOGETHER_MAX = 1_000
"""Most writes that share one append: bounds the wait of the first."""


class WriteListener(Protocol):
    """Told of each write once, in the order in which they were submitted."""

    def written(self, group_id: str, write: Write) -> None: ...

    def write_failed(self, group_id: str, write: Write) -> None: ...


class GroupWriter:
    def __init__(self, store: OffsetStore, listener: WriteListener, queued_max: int) -> None:
        self._store = store
        self._listener = listener
        self._queued_max = queued_max
        self._queues: dict[int, deque[tuple[str, Write]]] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}

    def check_room(self, partition: int) -> None:
        """Refuse while too much waits: clients try again, and the disk catches up."""
        if len(self._queues.get(partition, ())) >= self._queued_max:
            raise CoordinatorNotAvailable("too many writes wait for the disk; try again")

    def submit(self, partition: int, group_id: str, write: Write) -> None:
        self._queues.setdefault(partition, deque()).append((group_id, write))
        if partition not in self._tasks:
            self._tasks[partition] = asyncio.get_running_loop().create_task(self._drain(partition))

    async def settled(self) -> None:
        """Wait until nothing is under way."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def _drain(self, partition: int) -> None:
        queue = self._queues[partition]
        batch: deque[tuple[str, Write]] = deque()
        try:
            while queue:
                while queue and len(batch) < WRITES_TOGETHER_MAX:
                    batch.append(queue.popleft())
                await self._store.append(partition, _encoded(batch))
                while batch:
                    self._listener.written(*batch.popleft())
        except (Refusal, OSError) as error:
            log.error("group records not written", partition=partition, error=str(error))
        finally:
            del self._tasks[partition]
            # Whatever ended this, those who wait are told. What was decided after a write
            # that failed was decided on a state that is taken back, so it fails as well.
            failed = [*batch, *queue]
            queue.clear()
            for group_id, write in failed:
                self._listener.write_failed(group_id, write)


def _encoded(batch: Iterable[tuple[str, Write]]) -> list[KeyValue]:
    return [encode(record) for _, write in batch for record in write.records]
