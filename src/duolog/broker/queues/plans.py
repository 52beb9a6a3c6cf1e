"""What is to be appended to which partition of a queue, before any of it is."""

from collections.abc import Sequence

from duolog.broker.queues.queue_partition import Arrivals, QueuePartition, Trait
from duolog.model.errors import Refusal
from duolog.records.record import Record

Place = tuple[QueuePartition, int]
"""Of a message: its partition, and its offset there."""

Failures = dict[QueuePartition, tuple[int, Refusal]]
"""From which offset on nothing was written, and why."""


class Plans:
    def __init__(self) -> None:
        self._arrivals: dict[QueuePartition, Arrivals] = {}
        self.keys: dict[bytes, Place] = {}
        """What the messages planned so far are recognised by."""

    def add(
        self, partition: QueuePartition, record: Record | bytes, trait: Trait | None = None
    ) -> Place:
        """Bytes are a record that has this value and nothing else."""
        arrivals = self._of(partition)
        records = arrivals.records
        place = partition, arrivals.first_offset + len(records)
        if trait is not None:
            arrivals.traits[len(records)] = trait
            if trait.key is not None:
                self.keys[trait.key] = place
        records.append(record)
        return place

    def add_run(self, partition: QueuePartition, values: Sequence[bytes]) -> range:
        """Records that have these values and nothing else; where they will be."""
        arrivals = self._of(partition)
        first_offset = arrivals.first_offset + len(arrivals.records)
        arrivals.records += values
        return range(first_offset, first_offset + len(values))

    def _of(self, partition: QueuePartition) -> Arrivals:
        arrivals = self._arrivals.get(partition)
        if arrivals is None:
            # Nobody else writes before this plan is carried out.
            arrivals = Arrivals(partition.data.log.staged_end_offset)
            self._arrivals[partition] = arrivals
        return arrivals

    def append(self, now_ms: int) -> Failures:
        failed: Failures = {}
        for partition, arrivals in self._arrivals.items():
            try:
                partition.append(arrivals, now_ms)
            except Refusal as refusal:
                failed[partition] = partition.data.log.end_offset, refusal.with_traceback(None)
        return failed
