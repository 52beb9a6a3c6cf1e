"""Waiting for writes to be committed, by callbacks instead of a task per request."""

import asyncio
from collections.abc import Callable
from functools import partial

from duolog.broker.partition import Partition
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.model.errors import Refusal

Settled = Callable[[Refusal | None], None]


class _Committed:
    __slots__ = ("settle",)

    def __init__(self, settle: Settled) -> None:
        self.settle = settle


def when_committed(partition: Partition, end_offset: int, settled: Settled) -> None:
    """Calls back once the partition's high watermark reaches the offset, perhaps at once."""
    if partition.high_watermark >= end_offset:
        settled(None)
    else:
        partition.wait_committed(end_offset, _Committed(settled))


async def committed(partition: Partition, end_offset: int) -> None:
    """Waits until the partition's high watermark reaches the offset."""
    reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    when_committed(partition, end_offset, partial(settle_future, reached))
    await reached


def settle_future(future: asyncio.Future[None], failure: Refusal | None) -> None:
    """Settles a future, for the few callers that wait in a task."""
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)


class Commits:
    """Waiter for several writes that are answered together, once all are committed."""

    __slots__ = ("_failure", "_open", "_settled")

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self._failure: Refusal | None = None
        # Counts the caller as one, until `close`, so that nothing settles before all is added.
        self._open = 1

    def add(self, partition: Partition, end_offset: int) -> None:
        if partition.high_watermark < end_offset:
            self._open += 1
            partition.wait_committed(end_offset, self)

    def add_changes(self, partition: QueuePartition) -> None:
        """Waits for all changes of the partition's delivery state so far."""
        assert partition.journal is not None
        self.add(partition.journal.partition, partition.journal.end_offset)

    def close(self) -> None:
        """Ends the adding; settles at once if nothing is pending."""
        self.settle(None)

    def settle(self, failure: Refusal | None) -> None:
        """Notes that one write was committed, or failed; the last one calls back."""
        if failure is not None and self._failure is None:
            self._failure = failure
        self._open -= 1
        if not self._open:
            self._settled(self._failure)
