"""Group commit: appends that arrive while a sync runs are made durable by the next one.

One flusher per log directory. A failed sync is fatal for the directory and never retried:
the kernel may have dropped the dirty pages and would report success the second time.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from duolog.observe.histogram import Histogram
from duolog.ports.clock import Clock
from duolog.ports.disk import Disk, Syncable


class Flushable(Protocol):
    """A partition, as the flusher sees it."""

    def begin_sync(self) -> tuple[list[Syncable], int]:
        """Files to sync, and the end offset that they make durable."""
        ...

    def finish_sync(self, end_offset: int) -> None:
        """Marks the log durable up to the offset. Called before the next sync begins, because the
        log tracks one sync at a time: a truncation meanwhile lowers that sync's bound."""
        ...

    def synced(self, end_offset: int) -> None:
        """Settles the waiters; called once the disk is busy with the next sync."""
        ...


class Flusher:
    def __init__(
        self,
        disk: Disk,
        clock: Clock,
        durations: Histogram,
        on_failure: Callable[[OSError], None],
    ) -> None:
        self._disk = disk
        self._clock = clock
        self._durations = durations
        self._on_failure = on_failure
        self._dirty: dict[Flushable, None] = {}
        self._syncing: list[tuple[Flushable, int]] = []
        self._started_ns = 0
        self.failure: OSError | None = None
        """The error after which nothing is synced any more; None while all is well."""
        self._round = 0
        """Number of the sync that runs or, if none does, ran last."""
        self._drained: list[tuple[int, asyncio.Future[None]]] = []
        """Waiters of `drain`, each with the round that releases it."""
        self.after_sync: list[Callable[[], None]] = []
        """Called after a sync has settled its waiters: the APIs send the released answers."""

    def request(self, partition: Flushable) -> None:
        """Schedules a sync of what the partition has written, and then its `synced`."""
        self._dirty[partition] = None
        if not self._syncing:
            self._start()

    def forget(self, partition: Flushable) -> None:
        """Drops a partition that is gone; a running sync may still call its `synced`."""
        self._dirty.pop(partition, None)

    async def drain(self) -> None:
        """Waits until everything requested so far is durable, or the flusher has failed."""
        if self._syncing:
            drained: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            # Later requests belong to later rounds, and are not waited for.
            self._drained.append((self._round + bool(self._dirty), drained))
            await drained

    def give_up(self, failure: OSError) -> None:
        """Stops for good: the log directory cannot be trusted after a failed sync or undo."""
        if self.failure is None:
            self.failure = failure
            self._syncing.clear()
            self._on_failure(failure)
            self._release_drained(self._round + 1)

    def _start(self) -> None:
        if self.failure is not None:
            return
        targets: list[Syncable] = []
        try:
            for partition in self._dirty:
                wanted, end_offset = partition.begin_sync()
                targets += wanted
                self._syncing.append((partition, end_offset))
        except OSError as error:
            # From here on, nobody could tell what is durable.
            self.give_up(error)
            return
        self._dirty.clear()
        self._round += 1
        self._started_ns = self._clock.monotonic_ns()
        self._disk.sync(targets, self._done)

    def _done(self, failure: OSError | None) -> None:
        if failure is not None:
            self.give_up(failure)
        if self.failure is not None:
            return
        self._durations.observe((self._clock.monotonic_ns() - self._started_ns) / 1e9)
        finished, self._syncing = self._syncing, []
        done = self._round
        for partition, end_offset in finished:
            partition.finish_sync(end_offset)
        if self._dirty:
            self._start()
        for partition, end_offset in finished:
            partition.synced(end_offset)
        for released in self.after_sync:
            released()
        # If no sync runs, the partitions of the next round were forgotten, so none will follow.
        self._release_drained(done if self._syncing else self._round + 1)

    def _release_drained(self, done: int) -> None:
        released = [drained for until, drained in self._drained if until <= done]
        self._drained = [each for each in self._drained if each[0] > done]
        for drained in released:
            if not drained.done():
                drained.set_result(None)
