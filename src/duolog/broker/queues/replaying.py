"""What is written down when deleted messages are to be delivered again."""

from collections.abc import Iterator

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.message import group_of
from duolog.records.changes import Replayed
from duolog.records.record import Record

MESSAGES_MAX = 10_000
"""Of one change: others get a turn before the next."""


def replays(
    partition: QueuePartition, first_offset: int, next_offset: int, now_ms: int
) -> Iterator[Replayed]:
    """The changes for a range of offsets.

    The records are read again: the machine has forgotten the groups of what is done, and some
    of it may be gone for good.
    """
    run: list[Record] = []
    fifo = partition.delivery.rules.fifo
    for record in partition.records(first_offset, next_offset):
        if run and (len(run) == MESSAGES_MAX or _end_of(run) != record.offset):
            yield _replayed(run, fifo, now_ms)
            run = []
        run.append(Record(record.key, None, record.headers, record.timestamp, record.offset))
    if run:
        yield _replayed(run, fifo, now_ms)


def _replayed(run: list[Record], fifo: bool, now_ms: int) -> Replayed:
    """The change for records whose offsets follow each other."""
    groups: dict[bytes, list[int]] = {}
    for record in run:
        group = group_of(record, fifo=fifo)
        if group is not None and record.offset is not None:
            groups.setdefault(group, []).append(record.offset)
    by_group = tuple((group, tuple(offsets)) for group, offsets in groups.items())
    return Replayed(_end_of(run) - len(run), _end_of(run), now_ms, by_group)


def _end_of(run: list[Record]) -> int:
    offset = run[-1].offset
    assert offset is not None
    return offset + 1
