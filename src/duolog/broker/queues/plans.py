"""A plan of appends: gathers a turn's messages by partition, then writes each part at once."""

from duolog.broker.queues.queue_partition import QueuePartition, Trait
from duolog.model.errors import Refusal
from duolog.records.record import Record

Place = tuple[QueuePartition, int]
"""A message's partition and offset."""

Failures = dict[QueuePartition, tuple[int, Refusal]]
"""Partition → first offset that was not written, and the reason."""


class _Arrivals:
    """Messages planned for one partition, with consecutive offsets."""

    __slots__ = ("first_offset", "records", "traits")

    def __init__(self, first_offset: int) -> None:
        self.first_offset = first_offset
        self.records: list[Record | bytes] = []
        """Records to append; bytes stand for a record that has only this value, as most do."""
        self.traits: dict[int, Trait] = {}
        """Traits by index into `records`; most records have none."""


class Plans:
    def __init__(self) -> None:
        self._arrivals: dict[QueuePartition, _Arrivals] = {}
        self.keys: dict[bytes, Place] = {}
        """Deduplication keys of the planned messages → their places."""

    def add(
        self, partition: QueuePartition, record: Record | bytes, trait: Trait | None = None
    ) -> Place:
        """Plans a message, bytes for a plain one, and returns the place that it will get."""
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
            # The offset is certain: nobody else writes before this plan is appended.
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
