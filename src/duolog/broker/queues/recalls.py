"""Takes back changes of delivery states that could not be written, and tries again to write.

The changes of the turn whose write failed are applied already, so the state is read again as in
any opening: it rests, is admitted, and begins with the newest snapshot. Nothing is decided before
an empty record of the journal could be written, so that a disk that stays full costs one reading.
"""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

from duolog.broker.broker import Broker
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger

RETRY_S = 2.0

log = get_logger("queues")


class RecallsOwner(Protocol):
    def recalling(self, partition: QueuePartition) -> None: ...

    def recalled(self, partition: QueuePartition) -> None: ...


class Recalls:
    def __init__(
        self,
        broker: Broker,
        clock: SteadyClock,
        owner: RecallsOwner,
        read_again: Callable[[Queue, QueuePartition], Awaitable[None]],
    ) -> None:
        """Prepares recalls; `read_again` replaces the state by one with all that is written."""
        self._broker = broker
        self._clock = clock
        self._owner = owner
        self._read_again = read_again
        self._running: dict[QueuePartition, asyncio.Task[None]] = {}

    def stop(self) -> None:
        for running in self._running.values():
            running.cancel()

    def begin(self, queue: Queue, partition: QueuePartition) -> None:
        """Begins to take back what could not be written, and to try again."""
        if partition.is_gone or partition in self._running:
            return
        partition.refuses_changes = True
        self._owner.recalling(partition)
        running = asyncio.ensure_future(self._recall(queue, partition))
        self._running[partition] = running
        running.add_done_callback(partial(self._done, partition))

    def end(self, partition: QueuePartition) -> None:
        """Abandons the recall of a partition that is not served any more."""
        running = self._running.pop(partition, None)
        if running is not None:
            running.cancel()

    def _done(self, partition: QueuePartition, running: asyncio.Task[None]) -> None:
        if self._running.get(partition) is running:
            del self._running[partition]
        if not running.cancelled() and (failure := running.exception()) is not None:
            raise failure

    async def _recall(self, queue: Queue, partition: QueuePartition) -> None:
        journal = partition.journal
        assert journal is not None
        is_read = False
        while not is_read:
            if not (journal.partition.is_leader and partition.data.is_leader):
                # It resumes, or is closed: then nothing of this was needed.
                await asyncio.sleep(RETRY_S)
                continue
            try:
                await self._read_again(queue, partition)
                is_read = True
            except Refusal as refusal:
                log.error(
                    "changes of a queue could not be taken back",
                    queue=queue.entry.name,
                    error=str(refusal),
                )
                await asyncio.sleep(RETRY_S)
            except OSError as error:
                self._broker.flusher.give_up(error)
                return
        while journal.retry_ms:
            await asyncio.sleep(max(0, journal.retry_ms - self._clock.now_ms()) / 1000)
            journal.try_again()
        # From now on a write can fail again, which begins another recall.
        self._running.pop(partition, None)
        partition.refuses_changes = False
        self._owner.recalled(partition)
