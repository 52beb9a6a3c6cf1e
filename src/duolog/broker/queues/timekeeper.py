"""One timer for all queue partitions. A partition without a deadline costs nothing."""

import asyncio
import heapq
import itertools
from collections.abc import Callable

from duolog.broker.admission import Budget
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.ports.clock import Clock


class Timekeeper:
    def __init__(
        self, clock: SteadyClock, turns: Clock, ring: Callable[[QueuePartition, int], None]
    ) -> None:
        """`clock` says when to ring, `turns` how long a turn of ringing has taken."""
        self._clock = clock
        self._turns = turns
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
        budget = Budget(self._turns)
        # A partition that is armed again for now has more to do: in a turn of its own.
        armed_later = next(self._order)
        while heap and heap[0][0] <= now_ms and heap[0][1] < armed_later:
            due_ms, _, partition = heapq.heappop(heap)
            if partition.armed_ms == due_ms:
                partition.armed_ms = None
                self._ring(partition, now_ms)
                if budget.is_spent():
                    break
        if heap and (self._handle is None or heap[0][0] < self._handle_ms):
            self._set(heap[0][0])
