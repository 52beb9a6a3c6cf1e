"""One timer for all queue partitions. A partition without a deadline costs nothing."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.steady_clock import SteadyClock

RINGS_MAX = 1_000
"""Partitions rung per turn of the event loop."""


class Timekeeper:
    def __init__(self, clock: SteadyClock, ring: Callable[[QueuePartition, int], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._order = itertools.count()
        self._heap: list[tuple[int, int, QueuePartition]] = []
        """Deadlines; an entry is valid while its partition is armed for that very time."""
        self._handle: asyncio.TimerHandle | None = None
        self._handle_ms = 0

    def arm(self, partition: QueuePartition, due_ms: int) -> None:
        """Rings for the partition at this time, unless it is armed for an earlier one."""
        if partition.armed_ms is not None and partition.armed_ms <= due_ms:
            return
        partition.armed_ms = due_ms
        heapq.heappush(self._heap, (due_ms, next(self._order), partition))
        if self._handle is None or due_ms < self._handle_ms:
            self._set(due_ms)

    def stop(self) -> None:
        self._heap.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _set(self, due_ms: int) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle_ms = due_ms
        delay_ms = max(0, due_ms - self._clock.now_ms())
        self._handle = asyncio.get_running_loop().call_later(delay_ms / 1000, self._fire)

    def _fire(self) -> None:
        self._handle = None
        now_ms = self._clock.now_ms()
        heap = self._heap
        rings = RINGS_MAX
        while heap and heap[0][0] <= now_ms and rings:
            due_ms, _, partition = heapq.heappop(heap)
            if partition.armed_ms == due_ms:
                rings -= 1
                partition.armed_ms = None
                self._ring(partition, now_ms)
        if heap and (self._handle is None or heap[0][0] < self._handle_ms):
            self._set(heap[0][0])
