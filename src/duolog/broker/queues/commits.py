"""Waiting until what was written may be relied upon, without a task for each."""

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
    """Call once the partition's high watermark has reached the offset, perhaps at once."""
    if partition.high_watermark >= end_offset:
        settled(None)
    else:
        partition.wait_committed(end_offset, _Committed(settled))


async def committed(partition: Partition, end_offset: int) -> None:
    """Wait until the partition's high watermark has reached the offset."""
    reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    when_committed(partition, end_offset, partial(settle_future, reached))
    await reached


def settle_future(future: asyncio.Future[None], failure: Refusal | None) -> None:
    """For those few who wait in a task."""
    if future.done():
        return
    if failure is None:
        future.set_result(None)
    else:
        future.set_exception(failure)


class Commits:
    """Several writes that are answered together. It waits for each of them itself."""

    __slots__ = ("_failure", "_open", "_settled")

    def __init__(self, settled: Settled) -> None:
        self._settled = settled
        self._failure: Refusal | None = None
        # One for the caller, so that nothing is settled before all was added.
        self._open = 1

    def add(self, partition: Partition, end_offset: int) -> None:
        if partition.high_watermark < end_offset:
            self._open += 1
            partition.wait_committed(end_offset, self)

    def add_changes(self, partition: QueuePartition) -> None:
        """Everything that was decided about the partition's messages so far."""
        assert partition.journal is not None
        self.add(partition.journal.partition, partition.journal.end_offset)

    def close(self) -> None:
        """Everything was added."""
        self.settle(None)

    def settle(self, failure: Refusal | None) -> None:
        """One of them is relied upon from now on, or never."""
        if failure is not None and self._failure is None:
            self._failure = failure
        self._open -= 1
        if not self._open:
            self._settled(self._failure)
