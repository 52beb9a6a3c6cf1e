"""Counts the usage of this node's topics and queues, interval by interval.

Owns the current counter file and the empty spare that follows it. Closed files go to the journal
(broker/usage/journal.py) and become usage lines.
"""

import asyncio
from collections.abc import Callable

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.partition_tally import UNMETERED_PARTITION, Appended, PartitionTally
from duolog.core.usage.periods import due_ms, end_ms, hour_end_ms, next_start_ms
from duolog.core.usage.queue_tally import QueueTally
from duolog.core.usage.slots import Mark, PartitionName, Place, Slots
from duolog.core.usage.tally import UNMETERED, Tally
from duolog.core.usage.totals import Totals
from duolog.model.usage import Kind, Operation
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.counters import CounterFile, CounterFiles
from duolog.ports.disk import Disk

FILE_SUFFIX = ".counters"
_PAUSE_SECONDS_MIN = 0.001

log = get_logger("usage")


def file_name(sequence: int) -> str:
    return f"{sequence:020}{FILE_SUFFIX}"


def sequence_of(name: str) -> int:
    return int(name.removesuffix(FILE_SUFFIX))


class NoMeter:
    """Counts nothing: metering is off."""

    def tally(self, kind: Kind, resource: str, operation: Operation) -> Tally:
        return UNMETERED

    def partition_tally(
        self, topic: str, topic_id: bytes, index: int, source: Appended
    ) -> PartitionTally:
        return UNMETERED_PARTITION

    def queue_tally(self, queue: str) -> QueueTally:
        return QueueTally(UNMETERED, UNMETERED, UNMETERED, UNMETERED)

    def totals(self) -> Totals:
        return Totals()


class Meter(NoMeter):
    def __init__(
        self,
        tenant: str,
        files: CounterFiles,
        disk: Disk,
        clock: Clock,
        *,
        interval_ms: int,
        sequence: int,
        may_cut: Callable[[], bool],
        on_closed: Callable[[int, CounterFile], None],
    ) -> None:
        """Begins the first interval; raises OSError if the disk has no room for its file.

        `may_cut` returns True if a new file may begin before the hour is over.
        """
        self._tenant = tenant
        self._files = files
        self._disk = disk
        self._clock = clock
        self._interval_ms = interval_ms
        self._may_cut = may_cut
        self._on_closed = on_closed
        self._attached: list[Tally] = []
        self._attached_partitions: dict[PartitionTally, None] = {}
        self._before = Totals()
        """Totals of the intervals closed since the start."""
        self._file = files.create(file_name(sequence))
        self._slots = self._begin(sequence, self._file, clock.now_ms())
        self._spare: CounterFile | None = None
        self._has_failed = False
        """True if the last attempt to create a spare failed."""
        self.before_cut: Callable[[int], None] = lambda until_ms: None
        """Called before an interval ends, to add counts up to that time."""

    def tally(self, kind: Kind, resource: str, operation: Operation) -> Tally:
        return Tally(self, self._key(kind, resource, operation))

    def partition_tally(
        self, topic: str, topic_id: bytes, index: int, source: Appended
    ) -> PartitionTally:
        key = self._key("topic", topic, "produce")
        return PartitionTally(self, key, topic_id, index, source)

    def queue_tally(self, queue: str) -> QueueTally:
        return QueueTally(
            self.tally("queue", queue, "send"),
            self.tally("queue", queue, "receive"),
            self.tally("queue", queue, "delete"),
            self.tally("queue", queue, "other"),
        )

    def _key(self, kind: str, resource: str, operation: str) -> UsageKey:
        return UsageKey(self._tenant, kind, resource, operation)

    def attach(self, tally: Tally) -> Place:
        self._attached.append(tally)
        return self._slots.key(tally.key)

    def attach_partition(
        self, tally: PartitionTally, end_offset: int, leader_epoch: int
    ) -> tuple[Place, bool]:
        self._attached_partitions[tally] = None
        name = PartitionName(tally.topic_id, tally.index)
        place = self._slots.partition(tally.key, name, Mark(end_offset, leader_epoch))
        return (self._slots.key(tally.key), False) if place is None else (place, True)

    def totals(self) -> Totals:
        """Totals since the process started."""
        for tally in self._attached_partitions:
            tally.fold()
        totals = self._before.copy()
        totals.add(self._slots.counts())
        return totals

    @property
    def stored_ms(self) -> int:
        return self._slots.stored_ms

    @stored_ms.setter
    def stored_ms(self, stored_ms: int) -> None:
        self._slots.stored_ms = stored_ms

    async def run(self) -> None:
        """Ends intervals in time, until cancelled."""
        tried_ms = 0
        while True:
            if self._spare is None:
                await self._make_spare()
            # An interval that could not be ended is tried again one interval later.
            due = due_ms(max(self._slots.from_ms, tried_ms), self._interval_ms)
            pause = min((due - self._clock.now_ms()) / 1000, self._interval_ms / 1000)
            await asyncio.sleep(max(pause, _PAUSE_SECONDS_MIN))
            now_ms = self._clock.now_ms()
            if now_ms >= due or now_ms < self._slots.from_ms:
                self.cut(now_ms)
                tried_ms = now_ms

    async def finish(self) -> None:
        """Ends the last interval; nothing is counted afterwards."""
        if self._spare is None:
            await self._make_spare()
        self.cut(self._clock.now_ms(), is_last=True)

    async def _make_spare(self) -> None:
        """Creates the next file ahead of its use, so that the end of an interval needs no disk."""
        name = file_name(self._slots.sequence + 1)
        try:
            self._spare = await self._disk.offload(lambda: self._files.create(name))
        except OSError as error:
            if not self._has_failed:
                log.warning(
                    "no file for the next usage interval, the current one continues",
                    error=str(error),
                )
        self._has_failed = self._spare is None

    def cut(self, now_ms: int, *, is_last: bool = False) -> None:
        """Ends the interval, if anything was counted in it, and begins the next."""
        slots = self._slots
        to_ms = end_ms(slots.from_ms, now_ms)
        self.before_cut(to_ms)
        for partition in self._attached_partitions:
            partition.fold()
        begins_ms = next_start_ms(to_ms, now_ms)
        is_hour = begins_ms >= hour_end_ms(slots.from_ms)
        if slots.is_empty:
            slots.from_ms = begins_ms
        elif self._spare is not None and (is_hour or is_last or self._may_cut()):
            self._before.add(slots.counts())
            slots.close(to_ms)
            for tally in self._attached:
                tally.detach()
            for partition in self._attached_partitions:
                partition.detach()
            self._attached.clear()
            self._attached_partitions.clear()
            closed, self._file, self._spare = self._file, self._spare, None
            self._slots = self._begin(slots.sequence + 1, self._file, begins_ms)
            self._slots.stored_ms = slots.stored_ms
            self._on_closed(slots.sequence, closed)

    @staticmethod
    def _begin(sequence: int, file: CounterFile, from_ms: int) -> Slots:
        return Slots(sequence, from_ms, file.first, file.more)


NO_METER = NoMeter()
