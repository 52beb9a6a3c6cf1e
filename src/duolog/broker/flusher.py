"""Group commit: what is appended while a sync runs is made durable by the next one.

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
        """What to sync, and up to where everything is durable then."""
        ...

    def finish_sync(self, end_offset: int) -> None:
        """It is. Called before the next one begins: the log knows of one at a time, and what was
        cut off it meanwhile bounds that one."""
        ...

    def synced(self, end_offset: int) -> None:
        """Tell those who wait for it, while the disk has the next one to do."""
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
        """That ended it."""
        self._round = 0
        """The number of the sync that runs, or ran last."""
        self._drained: list[tuple[int, asyncio.Future[None]]] = []
        """Who waits for which round."""
        self.after_sync: list[Callable[[], None]] = []
        """Called when all partitions of a sync were told: doors send what it has released."""

    def request(self, partition: Flushable) -> None:
        """Make what the partition has written durable, then call its `synced`."""
        self._dirty[partition] = None
        if not self._syncing:
            self._start()

    def forget(self, partition: Flushable) -> None:
        """The partition is gone; a running sync may still call its `synced`."""
        self._dirty.pop(partition, None)

    async def drain(self) -> None:
        """Wait until everything requested so far is durable, or has failed."""
        if self._syncing:
            drained: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            # What is requested from now on has later rounds, and is not waited for.
            self._drained.append((self._round + bool(self._dirty), drained))
            await drained

    def give_up(self, failure: OSError) -> None:
        """The directory cannot be trusted any more; nothing in it is made durable from now on."""
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
            # Nobody could ever say again what is durable and what is not.
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
        # Where nothing runs, what the next round was for has been forgotten.
        self._release_drained(done if self._syncing else self._round + 1)

    def _release_drained(self, done: int) -> None:
        released = [drained for until, drained in self._drained if until <= done]
        self._drained = [each for each in self._drained if each[0] > done]
        for drained in released:
            if not drained.done():
                drained.set_result(None)
