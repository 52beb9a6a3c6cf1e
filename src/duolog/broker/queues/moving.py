"""Moves messages from one queue to another: appended there, then deleted here."""

from collections.abc import Callable, Sequence

from duolog.broker.queues.commits import when_committed
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.changes import Deleted
from duolog.core.queues.message import moved_record
from duolog.model.errors import Refusal

Moved = Callable[[Sequence[int] | Refusal], None]


def move_messages(
    queue: Queue,
    partition: QueuePartition,
    offsets: Sequence[int],
    target: Queue,
    *,
    source: str | None,
    done: Moved,
) -> None:
    """`done` gets the offsets once they are in the target and gone from here, durably.

    The offsets are held back from consumers meanwhile: dead, or in flight.
    """
    now_ms = queue.state.clock.now_ms()
    records = []
    try:
        for offset in offsets:
            record = partition.reader.take(offset)
            if record is not None:
                origin = partition.ids.of(offset)
                records.append(moved_record(record, source=source, origin=origin, now_ms=now_ms))
    except Refusal as refusal:
        done(refusal)
        return

    def accepted(failure: Refusal | None) -> None:
        if failure is not None:
            done(failure)
            return
        try:
            end_offset = partition.change(Deleted(tuple(offsets)))
        except Refusal as refusal:
            done(refusal)
            return
        assert partition.journal is not None
        when_committed(
            partition.journal.partition,
            end_offset,
            lambda failure: done(offsets if failure is None else failure),
        )

    target.accept(records, accepted)
