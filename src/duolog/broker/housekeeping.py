"""What a node does beside serving: checkpoints, retention, compaction, thinning, scrubbing.

Each duty is one loop over the partitions that need it; passing over the others costs next to
nothing. Heavy work on immutable files is offloaded; what changes a log happens here, on the
event loop, where its owner is.
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
from duolog.model.errors import StorageFailed
from duolog.model.names import USAGE_TOPIC
from duolog.observe.logs import get_logger

CHECKPOINT_AFTER_BYTES = 64 * 1024 * 1024
"""A checkpoint is due early once this much was written."""
CHECKPOINT_LOOK_SECONDS = 1.0

SNAPSHOTS_PER_CHECKPOINT_MAX = 64
"""Keeps a checkpoint short; the rest take their turn at the next one."""

DOUBTS_SECONDS = 1.0
"""How soon a segment is verified of which a follower refuses a batch."""

DOUBTED_AGAIN_MS = 60_000
"""After which one that was found intact is verified again."""

PARTITIONS_AT_ONCE = 500
"""Looked at before others are served, while none of them needs anything."""

T = TypeVar("T")

Thinnable = tuple[Partition, KeptRanges, int]
"""A partition, which of its offsets are still wanted, and below which offset that is known."""

log = get_logger("housekeeping")


class Housekeeping:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self.quarantined = sum(len(each.log.damaged) for each in broker.partitions())
        """Batches set aside because they are damaged, over all partitions."""
        self.thinning: Callable[[], Iterable[Thinnable]] = tuple
        """Partitions that may be thinned; others are served between one and the next."""
        self._trusted_ms: dict[str, int] = {}
        """Segments that were in doubt and found intact, and when."""
        self._removals: set[asyncio.Task[None]] = set()
        self._checkpoint_bytes_in = 0
        self._checkpoint_ms = 0
        self._checkpoint_after_ms = 0

    async def run(self) -> None:
        """Until cancelled."""
        settings = self._broker.settings
        async with asyncio.TaskGroup() as duties:
            self._checkpoint_ms = self._broker.clock.monotonic_ms()
            self._checkpoint_after_ms = settings.integer("log.checkpoint.interval.ms")
            looked_s = min(self._checkpoint_after_ms / 1000, CHECKPOINT_LOOK_SECONDS)
            duties.create_task(_every(looked_s, self.checkpoint_if_due))
            expired_s = settings.integer("log.retention.check.interval.ms") / 1000
            duties.create_task(_every(expired_s, self.expire))
            cleaned_s = settings.integer("log.cleaner.interval.ms") / 1000
            # One after the other: what both write of a segment has the same name.
            duties.create_task(_every(cleaned_s, self.compact, self.thin))
            duties.create_task(_every(DOUBTS_SECONDS, self.verify_doubted))
            duties.create_task(self._scrub())

    async def checkpoint_if_due(self) -> None:
        """A checkpoint syncs files of its own, which delays acknowledgements; so there is none
        while little was written since the last one, unless that was long ago."""
        now_ms, bytes_in = self._broker.clock.monotonic_ms(), self._broker.bytes_in
        if (
            bytes_in - self._checkpoint_bytes_in >= CHECKPOINT_AFTER_BYTES
            or now_ms - self._checkpoint_ms >= self._checkpoint_after_ms
        ):
            self._checkpoint_bytes_in, self._checkpoint_ms = bytes_in, now_ms
            await self.checkpoint()

    async def checkpoint(self) -> None:
        """Bound what the next start must scan, whatever the durability of the topics."""
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
                # A node that was down for long must be recognised when it repeats its lines.
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

    async def _prove_time(self, partition: Partition, segment: Segment) -> None:
        size = segment.size
        largest = await self._offload(partition, segment.time_proof(), lengthy=True)
        if largest is not None and segment.size == size:
            segment.prove_time(largest)

    async def compact(self) -> None:
        async for partition in self._each_partition(_compacted):
            now_ms = self._broker.clock.now_ms()
            plan = partition.log.plan_compaction(now_ms, partition.high_watermark)
            if plan is not None:
                await self._rewrite(partition, plan.build, "log compacted")

    async def thin(self) -> None:
        """Let one old message not hold everything behind it."""
        for number, (partition, kept_ranges, below_offset) in enumerate(self.thinning()):
            plan = None
            is_worth_a_look = len(partition.log.segments) > 1
            if is_worth_a_look and self._is_live(partition):
                plan = partition.log.plan_thinning(kept_ranges, below_offset=below_offset)
            if plan is not None:
                # What was done when it was planned may be replayed meanwhile.
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
        """Every selected partition that is there when its turn comes. Others are served in
        between."""
        partitions = tuple(self._broker.partitions())
        for first in range(0, len(partitions), PARTITIONS_AT_ONCE):
            await asyncio.sleep(0)
            for partition in select(partitions[first : first + PARTITIONS_AT_ONCE]):
                await asyncio.sleep(0)
                if self._is_live(partition):
                    yield partition

    async def _scrub(self) -> None:
        """Read every sealed segment now and then, slowly, to find damage before a client does."""
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
        """Look at once where a follower says that it was sent something damaged."""
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
        """The result of blocking work on the partition; None when it was deleted meanwhile."""
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
        """After `file.delete.delay.ms`, off the event loop: a large file takes long."""

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


def _all(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return partitions


def _unsettled(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return [each for each in partitions if not each.log.is_settled]


def _compacted(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return [each for each in partitions if each.topic.config.cleanup_compact]


def _with_sealed(partitions: Sequence[Partition]) -> Iterable[Partition]:
    return [each for each in partitions if len(each.log.segments) > 1]


async def _every(seconds: float, *duties: Callable[[], Awaitable[None]]) -> None:
    while True:
        await asyncio.sleep(seconds)
        for duty in duties:
            try:
                await duty()
            except (OSError, StorageFailed) as error:
                # A full disk, mostly. No promise depends on a duty: it is tried again.
                log.error("duty failed", duty=duty.__name__, error=str(error))
