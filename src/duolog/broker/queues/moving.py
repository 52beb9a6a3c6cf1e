"""Moves messages from one queue to another: appended to the target, then deleted here."""

from collections.abc import Callable, Sequence

from duolog.broker.queues.commits import when_committed
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition, not_led
from duolog.broker.queues.routing.routed_queue import RoutedQueue
from duolog.core.queues.message import moved_record
from duolog.model.errors import Refusal
from duolog.records.builder import encoded_size
from duolog.records.changes import Cause, Deleted
from duolog.records.record import Record

MOVED_BYTES_MAX = 16 << 20
"""Maximum size of messages moved in one step, unless a single one is larger."""

Moved = Callable[[Sequence[int] | Refusal], None]


def move_messages(
    queue: Queue,
    partition: QueuePartition,
    offsets: Sequence[int],
    target: Queue | RoutedQueue,
    *,
    source: str | None,
    done: Moved,
) -> None:
    """Moves messages; calls `done` with the moved offsets once both steps are committed.

    The messages must be withheld from consumers meanwhile: dead, or in flight.
    """

    journal = partition.journal
    assert journal is not None
    cause = Cause.MOVED if source is None else Cause.DEAD_LETTER
    moving: list[int] = []
    missing: list[int] = []

    def held_back(failure: Refusal | None) -> None:
        if failure is None and partition.is_gone:
            failure = not_led()
        if failure is None:
            try:
                found = [
                    (offset, partition.reader.take(offset))
                    for offset in offsets
                    if _is_held_back(partition, offset)
                ]
            except Refusal as refusal:
                failure = refusal
        if failure is None:
            moving.extend(offset for offset, record in found if record is not None)
            missing.extend(offset for offset, record in found if record is None)
            now_ms = queue.state.clock.now_ms()
            records = [
                _moved(partition, offset, record, source, now_ms)
                for offset, record in found
                if record is not None
            ]
            target.accept(records, accepted)
        else:
            done(failure)

    def accepted(failure: Refusal | None) -> None:
        if failure is not None:
            done(failure)
            return
        try:
            end_offset = partition.change(Deleted(tuple(moving), cause))
            if missing:
                end_offset = partition.change(Deleted(tuple(missing), Cause.UNREADABLE))
        except Refusal as refusal:
            done(refusal)
            return
        when_committed(
            journal.partition,
            end_offset,
            lambda failure: done(moving if failure is None else failure),
        )

    # The deliveries must be committed first: a repetition of the move is recognised by their
    # time, which a crash must not undo.
    when_committed(journal.partition, journal.end_offset, held_back)


def movable_together(partition: QueuePartition, offsets: Sequence[int]) -> Sequence[int]:
    """Cuts the offsets to those that fit MOVED_BYTES_MAX, at least one. Raises StorageFailed if
    the disk cannot be read."""
    total = 0
    for place, offset in enumerate(offsets):
        record = partition.reader.look(offset)
        total += 0 if record is None else encoded_size(record)
        if place and total > MOVED_BYTES_MAX:
            return offsets[:place]
    return offsets


def _is_held_back(partition: QueuePartition, offset: int) -> bool:
    """True if the message is still dead or in flight: neither settled nor visible again."""
    held = partition.delivery.held(offset)
    return held is not None and (held.is_dead or held.is_in_flight)


def _moved(
    partition: QueuePartition, offset: int, record: Record, source: str | None, now_ms: int
) -> Record:
    held = partition.delivery.held(offset)
    assert held is not None, "it is held back from consumers"
    origin = partition.ids.of(offset)
    # Includes the time, so that a message that was replayed and dies again is a new move.
    move = f"{origin}@{held.first_received_ms}"
    return moved_record(record, source=source, origin=origin, move=move, now_ms=now_ms)
