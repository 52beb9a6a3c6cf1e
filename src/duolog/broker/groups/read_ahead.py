"""Reads the offsets topic in the background and writes snapshots: they make a leader's start short.

Every replica in sync does so, because a leader's disk goes with the leader. A snapshot is due when
what a successor would have to read costs READ_COST_NS of CPU, and as much as the snapshot itself.
Reads while nothing urgent is admitted, and takes at most a fifth of the event loop's time.
"""

import asyncio
from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from duolog.broker.admission import Admission
from duolog.broker.groups.kept_records import Kept, KeptRecords
from duolog.broker.groups.prefix import StoredPartition, is_valid, reading
from duolog.core.groups.newest_records import NewestRecords
from duolog.core.groups.snapshot import encode_snapshot
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock

log = get_logger("groups")

LOOK_S = 1.0
"""Interval of looking whether enough has come."""
READ_COST_NS = 200_000_000
"""CPU time that a successor may spend on records beyond the snapshot."""
READS_PER_SNAPSHOT = 4
"""What is in memory is kept nearer to the end: reading sooner costs no more in all."""
RECORD_COST_NS = 2_000
"""CPU time of reading one record, before any was measured."""
RECORD_COST_NS_MIN = 500
"""Least cost that is assumed: compaction leaves offsets without a record."""
ROW_COST_NS = 500
"""CPU time of writing a record to a snapshot and of reading it from there."""
SLICE_NS = 5_000_000
"""CPU time after which background reading pauses."""
PAUSE_S = 0.02
"""Pause after each slice, four times as long."""

Result = TypeVar("Result")


class ReadAhead:
    def __init__(
        self,
        clock: Clock,
        admission: Admission,
        kept: KeptRecords,
        held: Callable[[], Sequence[StoredPartition]],
        *,
        read_cost_ns: int | None = None,
    ) -> None:
        self._clock = clock
        self._admission = admission
        self._kept = kept
        self._held = held
        self._read_cost_ns = READ_COST_NS if read_cost_ns is None else read_cost_ns
        self._record_cost_ns = float(RECORD_COST_NS)
        self._spent_ns = 0
        """CPU time of all slices so far."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._task.add_done_callback(_report_failure)

    async def stop(self) -> None:
        if self._task is not None and self._task.cancel():
            await asyncio.wait({self._task})

    async def look(self) -> None:
        """Reads and writes what is due."""
        held = self._held()
        self._kept.keep_only(held)
        for stored in held:
            try:
                if stored.is_in_sync:
                    await self._look_at(stored)
            except (OSError, Refusal) as error:
                # Only the next leader's start takes longer; the next look tries again.
                log.warning("groups not read ahead", partition=stored.index, error=str(error))

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            await self.look()

    async def _look_at(self, stored: StoredPartition) -> None:
        kept = await self._known(stored)
        if kept.is_doubtful:
            return
        assert kept.snapshot_offset is not None
        snapshot_ns = self._cost_ns(stored, kept.snapshot_offset)
        writes = snapshot_ns >= max(self._read_cost_ns, ROW_COST_NS * kept.rows)
        newest = kept.newest
        if writes or (
            newest is not None
            and self._cost_ns(stored, newest.offset) >= self._read_cost_ns / READS_PER_SNAPSHOT
        ):
            newest = await self._read(stored)
        if writes and newest is not None:
            await self._write(stored, newest)
        self._kept.release(stored)

    async def _known(self, stored: StoredPartition) -> Kept:
        kept = self._kept.of(stored)
        if kept.snapshot_offset is None:
            await self._kept.recall(stored, self.run_gently)
            kept = self._kept.of(stored)
        elif kept.snapshot_offset > stored.end_offset:
            # The log was cut, and the snapshot with it.
            kept.snapshot_offset = stored.start_offset
        return kept

    def _cost_ns(self, stored: StoredPartition, offset: int) -> float:
        """CPU time of reading from the offset on."""
        return (stored.settled_offset - offset) * self._record_cost_ns

    async def _read(self, stored: StoredPartition) -> NewestRecords:
        newest = await self._kept.recall(stored, self.run_gently)
        begun_offset, begun_ns = newest.offset, self._spent_ns
        await self.run_gently(reading(newest, stored, stored.settled_offset))
        self._measure(newest.offset - begun_offset, self._spent_ns - begun_ns)
        self._kept.of(stored).is_doubtful = newest.is_doubtful
        return newest

    async def _write(self, stored: StoredPartition, newest: NewestRecords) -> None:
        kept, offset = self._kept.of(stored), newest.offset
        if newest.is_doubtful or offset > stored.settled_offset or not is_valid(newest, stored):
            return
        # Also if it fails: a disk that cannot take it is not asked again each second.
        kept.snapshot_offset, kept.rows = offset, len(newest.values)
        data = await self.run_gently(encode_snapshot(newest))
        newest.content_bytes = min(newest.content_bytes, len(data))
        await stored.write_snapshot(offset, data)

    def _measure(self, records: int, spent_ns: int) -> None:
        if records > 0:
            measured_ns = (self._record_cost_ns + spent_ns / records) / 2
            self._record_cost_ns = max(measured_ns, RECORD_COST_NS_MIN)

    async def run_gently(self, steps: Generator[None, None, Result]) -> Result:
        """Runs the steps in short slices, each after whatever is more urgent."""
        while True:
            async with self._admission.admitted():
                began_ns = self._clock.thread_ns()
                try:
                    while self._clock.thread_ns() - began_ns < SLICE_NS:
                        next(steps)
                        self._clock.worked(1)
                except StopIteration as end:
                    result: Result = end.value
                    return result
                finally:
                    self._spent_ns += self._clock.thread_ns() - began_ns
            await asyncio.sleep(PAUSE_S)


def _report_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("groups are not read ahead any more", error=str(error))
