"""Moves messages that were received too often to their dead-letter queue.

A message is appended to the target before it is deleted from the source. A crash in between
leaves it in both; a FIFO target recognises the repeated move as a duplicate.
"""

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from duolog.broker.queues.moving import movable_together, move_messages
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.model.errors import Refusal
from duolog.model.usage import Operation
from duolog.observe.logs import get_logger

TOGETHER_MAX = 100
RETRY_MS = 1_000

log = get_logger("queues")


class QueueFinder(Protocol):
    def front(self, name: str) -> Queue | RoutedQueue | None: ...

    def rearm(self, partition: QueuePartition) -> None: ...

    def count_messages(self, queue: str, operation: Operation, messages: int) -> None: ...


class DeadLetters:
    def __init__(self, queues: QueueFinder) -> None:
        self._queues = queues

    def bury(self, queue: Queue, partition: QueuePartition) -> None:
        """Moves dead messages, up to TOGETHER_MAX at a time; needs the partition's journal."""
        if partition.is_burying:
            return
        redrive = queue.config.redrive
        target = None if redrive is None else self._queues.front(redrive.dead_letter_queue)
        if target is None:
            # No dead-letter queue exists: the messages are offered to consumers again.
            partition.delivery.revive()
            queue.serve_parked()
            return
        offsets: Sequence[int] = partition.delivery.dead()[:TOGETHER_MAX]
        try:
            offsets = movable_together(partition, offsets)
        except Refusal as refusal:
            self._buried(queue, partition, refusal)
            return
        if offsets:
            partition.is_burying = True
            move_messages(
                queue,
                partition,
                offsets,
                target,
                source=queue.entry.name,
                done=partial(self._buried, queue, partition),
            )

    def _buried(
        self, queue: Queue, partition: QueuePartition, moved: Sequence[int] | Refusal
    ) -> None:
        partition.is_burying = False
        if isinstance(moved, Refusal):
            log.error("dead letters not moved", queue=queue.entry.name, error=str(moved))
            partition.burial_ms = queue.state.clock.now_ms() + RETRY_MS
        else:
            self._queues.count_messages(queue.entry.name, "dead_letter", len(moved))
        self._queues.rearm(partition)
