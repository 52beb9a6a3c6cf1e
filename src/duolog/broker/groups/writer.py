"""Makes the decisions of groups durable: one write at a time for a partition of the store.

What is decided while a write is under way goes into the next one together, so that many
small commits share one batch and one sync.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from duolog.broker.groups.offset_store import KeyValue, OffsetStore, Tenure
from duolog.core.groups.formats import encode
from duolog.core.groups.messages import Write
from duolog.model.errors import CoordinatorNotAvailable, NotLeader, Refusal
from duolog.observe.logs import get_logger

log = get_logger("groups")

WRITES_TOGETHER_MAX = 1_000
"""Most writes that share one append: bounds the wait of the first."""


class WriteListener(Protocol):
    """Told of each write once, in the order in which they were submitted."""

    def written(self, group_id: str, write: Write) -> None: ...

    def write_failed(self, group_id: str, write: Write) -> None:
        """It is not in the log, or would be overtaken if it were."""
        ...

    def writes_unknown(self) -> None:
        """Instead of all that is outstanding: this node may not lead any more, and whether
        the writes are in the log is for the log to say."""
        ...


class GroupWriter:
    def __init__(
        self, store: OffsetStore, tenure: Tenure, listener: WriteListener, queued_max: int
    ) -> None:
        self._store = store
        self._tenure = tenure
        self._listener = listener
        self._queued_max = queued_max
        self._queue: deque[tuple[str, Write]] = deque()
        self._task: asyncio.Task[None] | None = None

    def check_room(self) -> None:
        """Refuse while too much waits: clients try again, and the disk catches up."""
        if len(self._queue) >= self._queued_max:
            raise CoordinatorNotAvailable("too many writes wait for the disk; try again")

    def submit(self, group_id: str, write: Write) -> None:
        self._queue.append((group_id, write))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def settled(self) -> None:
        """Wait until nothing is under way."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        queue = self._queue
        batch: deque[tuple[str, Write]] = deque()
        try:
            while queue:
                while queue and len(batch) < WRITES_TOGETHER_MAX:
                    batch.append(queue.popleft())
                await self._store.append(self._tenure, _encoded(batch))
                while batch:
                    self._listener.written(*batch.popleft())
        except NotLeader:
            batch.clear()
            queue.clear()
            self._listener.writes_unknown()
        except (Refusal, OSError) as error:
            log.error(
                "group records not written", partition=self._tenure.partition, error=str(error)
            )
        finally:
            self._task = None
            # Whatever ended this, those who wait are told. What was decided after a write
            # that failed was decided on a state that is taken back, so it fails as well.
            failed = [*batch, *queue]
            queue.clear()
            for group_id, write in failed:
                self._listener.write_failed(group_id, write)


def _encoded(batch: Iterable[tuple[str, Write]]) -> list[KeyValue]:
    return [encode(record) for _, write in batch for record in write.records]
