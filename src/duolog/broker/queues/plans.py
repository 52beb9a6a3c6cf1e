"""What is to be appended to which partition of a queue, before any of it is."""

from duolog.broker.queues.queue_partition import QueuePartition, Trait
from duolog.model.errors import Refusal
from duolog.records.record import Record

Place = tuple[QueuePartition, int]
"""Of a message: its partition, and its offset there."""

Failures = dict[QueuePartition, tuple[int, Refusal]]
"""From which offset on nothing was written, and why."""


class _Arrivals:
    """What comes to one partition, one behind the other."""

    __slots__ = ("first_offset", "records", "traits")

    def __init__(self, first_offset: int) -> None:
        self.first_offset = first_offset
        self.records: list[Record | bytes] = []
        """Bytes where a record has a value and nothing else, as most have."""
        self.traits: dict[int, Trait] = {}
        """Of those records, by place, that have any: most have none."""


class Plans:
    def __init__(self) -> None:
        self._arrivals: dict[QueuePartition, _Arrivals] = {}
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

    def _of(self, partition: QueuePartition) -> _Arrivals:
        arrivals = self._arrivals.get(partition)
        if arrivals is None:
            # Nobody else writes before this plan is carried out.
            arrivals = _Arrivals(partition.data.log.staged_end_offset)
            self._arrivals[partition] = arrivals
        return arrivals

    def append(self, now_ms: int) -> Failures:
        failed: Failures = {}
        for partition, arrivals in self._arrivals.items():
            try:
                partition.append(arrivals.records, arrivals.traits, now_ms)
            except Refusal as refusal:
                failed[partition] = partition.data.log.end_offset, refusal.with_traceback(None)
        return failed
