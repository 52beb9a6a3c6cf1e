"""Background duties of a node: checkpoints, retention, compaction, thinning, scrubbing.

Each duty is one loop over the partitions that need it; skipping the others costs next to
nothing. Heavy work on immutable files is offloaded to threads; changes of a log are made on the
event loop, which owns it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.log.rewriting import Rewritten
from duolog.log.segment import Segment
from duolog.log.thinning import KeptRanges
from duolog.model.errors import DiskFull, StorageFailed
from duolog.model.names import USAGE_TOPIC
from duolog.observe.logs import get_logger
from duolog.ports.disk import is_no_room

CHECKPOINT_AFTER_BYTES = 64 * 1024 * 1024
"""Bytes written since the last checkpoint that make the next one due early."""
CHECKPOINT_LOOK_SECONDS = 1.0

EXPIRE_FULL_S = 5.0
"""Interval at which retention is applied while the disk is full."""

SNAPSHOTS_PER_CHECKPOINT_MAX = 64
"""Maximum number of producer snapshots per checkpoint, to keep it short; the rest follow later."""

DOUBTS_SECONDS = 1.0
"""Interval at which segments are verified from which a follower refused a batch."""

DOUBTED_AGAIN_MS = 60_000
"""Time after which a doubted segment that was found intact is verified again."""

PARTITIONS_AT_ONCE = 500
"""Partitions looked at per turn of the event loop, if none of them needs work."""

T = TypeVar("T")

Thinnable = tuple[Partition, KeptRanges, int]
"""A partition, its offset ranges still needed, and the offset below which these are known."""

log = get_logger("housekeeping")


class Housekeeping:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.quarantined = sum(len(each.log.damaged) for each in broker.partitions())
        """Number of damaged batches set aside, over all partitions."""
        self.thinning: Callable[[], Iterable[Thinnable]] = tuple
        """Yields partitions that may be thinned; the event loop serves others in between."""
        self._trusted_ms: dict[str, int] = {}
        """Segment path → time at which a doubted segment was found intact."""
        self._removals: set[asyncio.Task[None]] = set()
        self._checkpoint_bytes_in = 0
        self._checkpoint_ms = 0
        self._checkpoint_after_ms = 0

    async def run(self) -> None:
        """Runs all duties until cancelled."""
        settings = self._broker.settings
        async with asyncio.TaskGroup() as duties:
            self._checkpoint_ms = self._broker.clock.monotonic_ms()
            self._checkpoint_after_ms = settings.integer("log.checkpoint.interval.ms")
            looked_s = min(self._checkpoint_after_ms / 1000, CHECKPOINT_LOOK_SECONDS)
            duties.create_task(self._broker.reserve.run())
            duties.create_task(self._every(looked_s, self.checkpoint_if_due))
            expired_s = settings.integer("log.retention.check.interval.ms") / 1000
            duties.create_task(self._every(expired_s, self.expire))
            duties.create_task(self._every(min(expired_s, EXPIRE_FULL_S), self.expire_if_full))
            cleaned_s = settings.integer("log.cleaner.interval.ms") / 1000
            # One after the other, because both write a segment's replacement under one name.
            duties.create_task(self._every(cleaned_s, self.compact, self.thin))
            duties.create_task(self._every(DOUBTS_SECONDS, self.verify_doubted))
            duties.create_task(self._scrub())

    async def checkpoint_if_due(self) -> None:
        """Writes a checkpoint after CHECKPOINT_AFTER_BYTES or its interval, whichever is first;
        not more often, because its syncs delay acknowledgements."""
        now_ms, bytes_in = self._broker.clock.monotonic_ms(), self._broker.bytes_in
        if (
            bytes_in - self._checkpoint_bytes_in >= CHECKPOINT_AFTER_BYTES
            or now_ms - self._checkpoint_ms >= self._checkpoint_after_ms
        ):
            self._checkpoint_bytes_in, self._checkpoint_ms = bytes_in, now_ms
            await self.checkpoint()

    async def checkpoint(self) -> None:
        """Bounds what recovery must scan: requests syncs, snapshots producers, writes points."""
        broker = self._broker
        snapshots = SNAPSHOTS_PER_CHECKPOINT_MAX
        changed: dict[Partition, int | None] = {}
        async for partition in self._each_partition(_unsettled):
            log_ = partition.log
            log_.checkpoint()
            end_offset = log_.end_offset
            if log_.needs_sync:
                broker.flusher.request(partition)
            if partition.wants_snapshot and snapshots:
                write = partition.take_snapshot()
                if write is not None:
                    snapshots -= 1
                    await self._offload(partition, write)
            is_settled = not log_.needs_sync and not partition.wants_snapshot
            changed[partition] = end_offset if is_settled else None
        await broker.storage.update_points(filter(self._is_live, changed))
        for partition, settled_offset in changed.items():
            if settled_offset is not None:
                partition.log.settled_offset = settled_offset

    async def expire(self) -> None:
        broker = self._broker
        now_ms = broker.clock.now_ms()
        producers_before_ms = now_ms - broker.settings.integer("producer.id.expiration.ms")
        async for partition in self._each_partition(_all):
            if partition.topic.name != USAGE_TOPIC:
                # Kept for ever: a node may repeat its usage lines after a long absence, and must
                # be recognised.
                partition.expire_producers(producers_before_ms)
            partition.log.roll_if_aged(now_ms)
            for segment in partition.log.to_prove(now_ms):
                await self._prove_time(partition, segment)
            removed = partition.log.expire(now_ms, partition.high_watermark)
            if partition.log.needs_sync:
                broker.flusher.request(partition)
            elif partition.log.is_settled:
                partition.log.rest()
            if removed:
                log.info(
                    "segments expired",
                    topic=partition.topic.name,
                    partition=partition.index,
                    segments=len(removed),
                    start_offset=partition.log.start_offset,
                )
                self._unlink_later(partition, removed)

    async def expire_if_full(self) -> None:
        """Makes room sooner than usual: of what was deleted in queues, or is past retention."""
        if self._broker.reserve.is_full:
            await self.expire()

    async def _prove_time(self, partition: Partition, segment: Segment) -> None:
        size = segment.size
        largest = await self._offload(partition, segment.time_proof(), lengthy=True)
        if largest is not None and segment.size == size:
            segment.prove_time(largest)

    def _may_rewrite(self) -> bool:
        """True while the disk is not full: a rewrite needs room before it makes some."""
        return not self._broker.reserve.is_full

    async def compact(self) -> None:
        if not self._may_rewrite():
            return
        async for partition in self._each_partition(_compacted):
            now_ms = self._broker.clock.now_ms()
            plan = partition.log.plan_compaction(
                now_ms, partition.high_watermark, may_write=self._may_rewrite
            )
            if plan is not None:
                await self._rewrite(partition, plan.build, "log compacted")

    async def thin(self) -> None:
        """Rewrites segments in which few messages are still needed, so that one old message does
        not hold everything behind it."""
        if not self._may_rewrite():
            return
        for number, (partition, kept_ranges, below_offset) in enumerate(self.thinning()):
            plan = None
            is_worth_a_look = len(partition.log.segments) > 1
            if is_worth_a_look and self._is_live(partition):
                plan = partition.log.plan_thinning(
                    kept_ranges, below_offset=below_offset, may_write=self._may_rewrite
                )
            if plan is not None:
                # Checked again before the swap: messages that were done when this was planned may
                # have been replayed since.
                still_holds = partial(plan.holds, kept_ranges)
                await self._rewrite(partition, plan.build, "log thinned", still_holds)
            elif is_worth_a_look or number % PARTITIONS_AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _rewrite(
        self,
        partition: Partition,
        build: Callable[[], Rewritten],
        event: str,
        still_holds: Callable[[], bool] = lambda: True,
    ) -> None:
        result = await self._offload(partition, build, lengthy=True)
        if result is None:
            return
        if not still_holds():
            partition.log.discard(result)
            return
        try:
            removed = partition.log.swap(result)
        except StorageFailed:
            if partition.log.failure is not None:
                self._broker.flusher.give_up(partition.log.failure)
            raise
        if removed:
            log.info(
                event,
                topic=partition.topic.name,
                partition=partition.index,
                bytes_before=result.bytes_before,
                bytes_after=result.bytes_after,
            )
            self._unlink_later(partition, removed)

    async def _each_partition(
        self, select: Callable[[Sequence[Partition]], Iterable[Partition]]
    ) -> AsyncIterator[Partition]:
        """Yields the selected partitions that still exist at their turn, serving clients in
        between."""
        partitions = tuple(self._broker.partitions())
        for first in range(0, len(partitions), PARTITIONS_AT_ONCE):
            await asyncio.sleep(0)
            for partition in select(partitions[first : first + PARTITIONS_AT_ONCE]):
                await asyncio.sleep(0)
                if self._is_live(partition):
                    yield partition

    async def _scrub(self) -> None:
        """Verifies all sealed segments periodically, at a limited rate, to find damage early."""
        settings = self._broker.settings
        bytes_per_second = settings.integer("log.scrub.bytes.per.second")
        while bytes_per_second:
            async for partition in self._each_partition(_with_sealed):
                for segment in tuple(partition.log.segments[:-1]):
                    if segment.deleted or not self._is_live(partition):
                        continue
                    try:
                        await self.scrub_segment(partition, segment)
                    except OSError as error:
                        log.error("segment not readable", segment=segment.path, error=str(error))
                    await asyncio.sleep(segment.size / bytes_per_second)
            await asyncio.sleep(settings.integer("log.scrub.interval.ms") / 1000)

    async def verify_doubted(self) -> None:
        """Verifies the segments from which followers received damaged batches."""
        now_ms = self._broker.clock.monotonic_ms()
        doubted, self._broker.doubted = self._broker.doubted, {}
        if not doubted:
            self._trusted_ms.clear()
        for partition, offset in doubted.items():
            segment = partition.log.sealed_at(offset)
            if segment is None or not self._is_live(partition):
                continue
            if now_ms - self._trusted_ms.get(segment.path, -DOUBTED_AGAIN_MS) >= DOUBTED_AGAIN_MS:
                await self.scrub_segment(partition, segment)
                self._trusted_ms[segment.path] = now_ms

    async def scrub_segment(self, partition: Partition, segment: Segment) -> None:
        verify = partition.log.verification(segment)
        damaged = await self._offload(partition, verify, lengthy=True)
        found = partition.log.quarantine(damaged or [])
        if found:
            self._broker.roles.damaged(partition)
        for each in found:
            self.quarantined += 1
            log.error(
                "damaged batch quarantined",
                topic=partition.topic.name,
                partition=partition.index,
                first_offset=each.first_offset,
                next_offset=each.next_offset,
                reason=each.reason,
            )

    async def _offload(
        self, partition: Partition, work: Callable[[], T], *, lengthy: bool = False
    ) -> T | None:
        """Runs blocking work in a thread; returns None if the partition was deleted meanwhile."""
        try:
            result = await self._broker.disk.offload(work, lengthy=lengthy)
        except OSError:
            if self._is_live(partition):
                raise
            return None
        return result if self._is_live(partition) else None

    def _is_live(self, partition: Partition) -> bool:
        routes = self._broker.routes
        return routes.get((partition.topic.name, partition.index)) is partition

    def _unlink_later(self, partition: Partition, segments: list[Segment]) -> None:
        """Deletes files after `file.delete.delay.ms`, in a thread because large ones take long."""

        disk = self._broker.disk
        paths = [path for segment in segments for path in segment.paths]

        def unlink() -> None:
            for path in paths:
                disk.remove(path)

        def start() -> None:
            self._removals.add(removal := loop.create_task(disk.offload(unlink)))
            removal.add_done_callback(self._removals.discard)

        loop = asyncio.get_running_loop()
        loop.call_later(partition.topic.config.file_delete_delay_ms / 1000, start)

    async def _every(self, seconds: float, *duties: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            for duty in duties:
                # No guarantee depends on one run of a duty: the next retries.
                try:
                    await duty()
                except DiskFull:
                    self._broker.reserve.free()
                except (OSError, StorageFailed) as error:
                    if isinstance(error, OSError) and is_no_room(error):
                        self._broker.reserve.free()
                    else:
                        log.error("duty failed", duty=duty.__name__, error=str(error))


def _all(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return partitions


def _unsettled(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return [each for each in partitions if not each.log.is_settled]


def _compacted(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return [each for each in partitions if each.topic.config.cleanup_compact]


def _with_sealed(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return [each for each in partitions if len(each.log.segments) > 1]
