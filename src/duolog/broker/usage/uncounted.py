"""Counts records that the last process had appended but not counted when it was killed.

They lie in the log behind the marks left beside the counters, in the leader epochs that the
marks name.
"""

from collections.abc import Mapping

from duolog.broker.broker import Broker
from duolog.core.usage.slots import Mark, PartitionName
from duolog.observe.logs import get_logger
from duolog.records.header import LENGTH_PREFIX_BYTES

log = get_logger("usage")


def count_uncounted(broker: Broker, marks: Mapping[PartitionName, Mark]) -> None:
    """Counts uncounted records; called before anything else is appended or truncated."""
    for name, mark in marks.items():
        counted_offset, leader_epoch = mark
        partition = broker.routes.get(name)
        if partition is None or partition.end_offset <= counted_offset:
            continue
        found = [
            header
            for header in partition.log.headers(counted_offset)
            if header.base_offset >= counted_offset and header.leader_epoch == leader_epoch
        ]
        if found:
            partition.produced.recount(
                mark,
                len(found),
                sum(header.last_offset_delta + 1 for header in found),
                sum(header.batch_length + LENGTH_PREFIX_BYTES for header in found),
            )
            log.info(
                "counted records appended but not counted before the node was killed",
                topic=partition.topic.name,
                partition=partition.index,
                batches=len(found),
            )
