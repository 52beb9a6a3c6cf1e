"""Makes the groups' decisions durable: one append at a time per partition of the offsets topic.

Group commit: decisions made during an append go into the next one together, so that many small
commits share one batch and one sync.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Protocol

from duolog.broker.groups.offset_store import KeyValue, OffsetStore, Tenure, batches_of
from duolog.core.groups.formats import encode
from duolog.core.groups.messages import Write
from duolog.model.errors import CoordinatorNotAvailable, NotLeader, Refusal
from duolog.observe.logs import get_logger

log = get_logger("groups")

WRITES_TOGETHER_MAX = 1_000
"""Maximum number of writes that share one append; bounds the wait of the first."""


class WriteListener(Protocol):
    """Called once per write, in the order of submission."""

    def written(self, group_id: str, write: Write) -> None: ...

    def write_failed(self, group_id: str, write: Write) -> None:
        """Called if the write, or an earlier one, has failed; its decision is to be undone."""
        ...

    def writes_unknown(self) -> None:
        """Called once instead for all pending writes if leadership was lost: their outcome is
        unknown, and only the log can tell it."""
        ...


class GroupWriter:
    def __init__(
        self, store: OffsetStore, tenure: Tenure, listener: WriteListener, queued_max: int
    ) -> None:
        self._store = store
        self.tenure = tenure
        self._listener = listener
        self._queued_max = queued_max
        self._queue: deque[tuple[str, Write]] = deque()
        self._task: asyncio.Task[None] | None = None

    def check_room(self) -> None:
        """Refuses while the queue is full (back-pressure): clients retry later."""
        if len(self._queue) >= self._queued_max:
            raise CoordinatorNotAvailable("too many writes wait for the disk; try again")

    def submit(self, group_id: str, write: Write) -> None:
        self._queue.append((group_id, write))
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._drain())

    async def settled(self) -> None:
        """Waits until no write is pending."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def _drain(self) -> None:
        queue = self._queue
        batch: deque[tuple[str, Write]] = deque()
        try:
            while queue:
                while queue and len(batch) < WRITES_TOGETHER_MAX:
                    batch.append(queue.popleft())
                for records in batches_of(_encoded(batch)):
                    # Not one tenure for all: a new epoch may begin between two batches.
                    await self._store.append(self.tenure, records)
                while batch:
                    self._listener.written(*batch.popleft())
        except NotLeader:
            batch.clear()
            queue.clear()
            self._listener.writes_unknown()
        except (Refusal, OSError) as error:
            log.error(
                "group records not written", partition=self.tenure.partition, error=str(error)
            )
        finally:
            self._task = None
            # All pending writes fail, whatever the cause: those after a failed one were decided
            # on a state that is now undone.
            failed = [*batch, *queue]
            queue.clear()
            for group_id, write in failed:
                self._listener.write_failed(group_id, write)


def _encoded(batch: Iterable[tuple[str, Write]]) -> list[KeyValue]:
    return [encode(record) for _, write in batch for record in write.records]
