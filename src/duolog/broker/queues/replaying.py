"""What is written down when deleted messages are to be delivered again."""

from collections.abc import Iterator

from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.changes import Replayed
from duolog.core.queues.message import group_of

MESSAGES_MAX = 10_000
"""Of one change: others get a turn before the next."""


def replays(
    partition: QueuePartition, first_offset: int, next_offset: int, now_ms: int
) -> Iterator[Replayed]:
    """The changes for a range of offsets.

    The machine has forgotten the groups of what is done, so they are read again.
    """
    first_offset = max(first_offset, partition.data.log.start_offset)
    fifo = partition.delivery.rules.fifo
    while first_offset < next_offset:
        end_offset = min(first_offset + MESSAGES_MAX, next_offset)
        groups: dict[bytes, list[int]] = {}
        for record in partition.records(first_offset, end_offset):
            group = group_of(record, fifo=fifo)
            if group is not None and record.offset is not None:
                groups.setdefault(group, []).append(record.offset)
        yield Replayed(
            first_offset,
            end_offset,
            now_ms,
            tuple((group, tuple(offsets)) for group, offsets in groups.items()),
        )
        first_offset = end_offset
