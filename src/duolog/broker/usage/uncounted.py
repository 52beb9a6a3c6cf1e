"""Counts what the last process had written to a topic, and not counted, when it was killed.

That is the time between two statements; but an idempotent producer which was not answered
repeats itself, is told that the batch is there, and nobody would ever count it.
"""

from collections.abc import Callable, Mapping

from duolog.broker.broker import Broker
from duolog.core.usage.slots import PartitionName
from duolog.observe.logs import get_logger
from duolog.records.header import LENGTH_PREFIX_BYTES

log = get_logger("usage")


def count_uncounted(
    broker: Broker, marks: Mapping[PartitionName, int], is_queue: Callable[[str], bool]
) -> None:
    """What other nodes copy may be counted by another leader, and what lies in a queue may have
    come by its own door, which counts what it answers."""
    for (topic_id, index), counted_offset in marks.items():
        partition = broker.routes.get((topic_id, index))
        if (
            partition is None
            or partition.is_replicated
            or partition.log.end_offset <= counted_offset
            or is_queue(partition.topic.name)
        ):
            continue
        found = [
            header
            for header in partition.log.headers(counted_offset)
            if header.base_offset >= counted_offset
        ]
        tally = partition.produced
        tally.expect(counted_offset)
        tally.appended(
            len(found),
            sum(header.last_offset_delta + 1 for header in found),
            sum(header.batch_length + LENGTH_PREFIX_BYTES for header in found),
            partition.log.end_offset,
        )
        log.info(
            "counted what was written when the node was killed",
            topic=partition.topic.name,
            partition=index,
            batches=len(found),
        )
