"""Builds the changes that make deleted messages ready again (replay)."""

from collections.abc import Iterator

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.message import group_of
from duolog.records.changes import Replayed
from duolog.records.record import Record

MESSAGES_MAX = 10_000
"""Maximum number of messages per change, so that other work runs between two changes."""


def replays(
    partition: QueuePartition, first_offset: int, next_offset: int, now_ms: int
) -> Iterator[Replayed]:
    """Yields the changes that replay a range of offsets.

    Reads the records again: the delivery state has dropped the groups of done messages, and some
    records may be gone for good.
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
    """Builds the change for records with consecutive offsets."""
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
