"""Periodic upkeep of a queue's partition: retention, snapshots, reclaiming disk space.

Space is reclaimed when all messages of a segment are done, unless they are retained for replay.
"""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress

from duolog.broker.partition import Partition
from duolog.broker.queues.commits import committed
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.progress import Tail
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.reading_cost import image_ns, tail_ns
from duolog.broker.queues.snapshots import SnapshotWriting
from duolog.core.queues.deduplication import DEDUPLICATION_MS
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.records.changes import Cause, Trimmed

UPKEEP_MS = 5_000
SNAPSHOT_AFTER_NS = 100_000_000
"""CPU time for reading what came after the last snapshot, from which on the next one is due; that
for the last one itself if it is more. Until this is noticed as much may come again."""
SNAPSHOT_WORTH_NS = 10_000_000
"""The same for a node that stops, whose partitions others are about to open."""
SAVED_SECONDS_MAX = 1.0
"""Time for which a node that stops waits for others to copy its snapshots."""
TIMES_NOTED = 64
"""Samples of offsets taken per retention period."""
RECLAIM_BYTES_MIN = 4 << 20
"""Minimum size of a lone segment whose space is reclaimed, since that begins a new segment."""

log = get_logger("queues")


class _Freed:
    """An offset below which all messages are done, by journals that may not be committed yet."""

    def __init__(self, offset: int, journals: Sequence[Journal]) -> None:
        self.offset = offset
        self._awaited = [(journal.partition, journal.end_offset) for journal in journals]

    @property
    def is_certain(self) -> bool:
        return all(journal.high_watermark >= offset for journal, offset in self._awaited)


class Upkeep:
    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._writing: dict[QueuePartition, SnapshotWriting] = {}
        """Snapshots being written, or not yet committed and durable."""
        self._lows: dict[QueuePartition, list[tuple[int, int]]] = {}
        """Samples (time, lowest undone offset), for queues that retain deleted messages."""
        self._needed: dict[QueuePartition, list[tuple[int, int]]] = {}
        """Samples (time, first journal offset that recovery needs), for the same queues."""
        self._freed: dict[QueuePartition, _Freed] = {}
        """Offsets up to which messages can go once the journals are committed."""

    def wants_snapshot(self, partition: QueuePartition) -> bool:
        if partition in self._writing:
            return True
        return tail_ns(partition) >= max(SNAPSHOT_AFTER_NS, image_ns(partition))

    def is_due(self, partition: QueuePartition, now_ms: int) -> bool:
        """True if a partition without a journal needs one for its upkeep."""
        delivery = partition.delivery
        return self.wants_snapshot(partition) or (
            not delivery.is_empty and delivery.expired_before(now_ms) > delivery.low_offset()
        )

    def run(
        self,
        queue: Queue,
        partition: QueuePartition,
        beside: Sequence[QueuePartition] | None,
        now_ms: int,
    ) -> bool:
        """Runs all upkeep of a partition that has its journal. Returns False if messages are left
        to expire: in turns of their own.

        `beside` are the partitions of subscription queues with the same messages; None: unknown.
        """
        is_done = self._expire(partition, now_ms)
        if self.wants_snapshot(partition):
            self.snapshot(partition, now_ms, queue.config.retain_deleted_seconds * 1000)
        if queue.config.source_topic is None and beside is not None:
            self._reclaim(queue, partition, beside, now_ms)
        partition.delivery.forget_sent_before(partition.data.log.start_offset)
        partition.deduplication.expire(now_ms)
        partition.reader.forget()
        return is_done

    def forget(self, partition: QueuePartition) -> None:
        writing = self._writing.pop(partition, None)
        if writing is not None:
            # The next leader may not find it.
            partition.tail = partition.tail.plus(writing.tail)
        self._lows.pop(partition, None)
        self._needed.pop(partition, None)
        self._freed.pop(partition, None)

    def recalled(self) -> None:
        """Drops conclusions about done messages, after changes were undone."""
        self._freed.clear()

    def _expire(self, partition: QueuePartition, now_ms: int) -> bool:
        delivery = partition.delivery
        low_offset = delivery.low_offset()
        start_offset = partition.data.log.start_offset
        if low_offset < start_offset:
            partition.change(Trimmed(start_offset, Cause.REMOVED))
        expired_offset = delivery.expired_before(now_ms)
        if max(low_offset, start_offset) >= expired_offset:
            return True
        before_offset = delivery.trimmable_to(expired_offset)
        partition.change(Trimmed(before_offset, Cause.EXPIRED))
        return before_offset == expired_offset

    def snapshot(self, partition: QueuePartition, now_ms: int, retain_ms: int) -> None:
        """Begins a snapshot; or, if the one begun before is durable, drops older records."""
        journal = partition.journal
        assert journal is not None
        writing = self._writing.get(partition)
        if writing is None:
            self._begin(partition, journal)
        elif writing.is_reliable:
            del self._writing[partition]
            # Keeps the records from the older snapshot on, in case the newer one is damaged.
            needed = writing.rely()
            if retain_ms:
                # Deleted messages are retained, and so is the journal of their deliveries.
                start = journal.partition.log.start_offset
                times = self._needed.setdefault(partition, [])
                needed = _before(times, needed, start, now_ms, retain_ms)
            _advance_start(journal.partition, needed)

    def save(self, partition: QueuePartition) -> None:
        """Begins a snapshot of the current state, replacing one begun before."""
        assert partition.journal is not None
        self._writing.pop(partition, None)
        self._begin(partition, partition.journal)

    def _begin(self, partition: QueuePartition, journal: Journal) -> None:
        # Flushed first: the snapshot includes gathered changes, so they must come before it.
        journal.flush()
        if partition.is_unsettled:
            return
        writing = SnapshotWriting.of(partition)
        partition.tail = Tail()
        self._writing[partition] = writing
        if self._write_piece(partition, writing) and not writing.is_complete:
            task = asyncio.ensure_future(self._write_rest(partition, writing))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _write_rest(self, partition: QueuePartition, writing: SnapshotWriting) -> None:
        """Writes the remaining pieces, serving others in between."""
        while not writing.is_complete:
            await asyncio.sleep(0)
            if not self._write_piece(partition, writing):
                return

    def _write_piece(self, partition: QueuePartition, writing: SnapshotWriting) -> bool:
        """Writes one piece; False if that failed, or the snapshot was replaced."""
        if self._writing.get(partition) is not writing:
            return False
        try:
            writing.write_piece()
        except Refusal as refusal:
            writing.give_up(refusal)
            partition.tail = partition.tail.plus(writing.tail)
            del self._writing[partition]
            return False
        if writing.is_complete and partition.journal is not None:
            partition.journal.snapshot_bytes = writing.size
        return True

    def _reclaim(
        self,
        queue: Queue,
        partition: QueuePartition,
        beside: Sequence[QueuePartition],
        now_ms: int,
    ) -> None:
        low = min(each.delivery.low_offset() for each in (partition, *beside))
        retain_ms = queue.config.retain_deleted_seconds * 1000
        if queue.config.fifo:
            # Deleted messages are kept for the deduplication interval, to recognise duplicates.
            low = min(low, partition.delivery.offset_at(now_ms - DEDUPLICATION_MS))
        if retain_ms:
            start = partition.data.log.start_offset
            times = self._lows.setdefault(partition, [])
            low = min(low, _before(times, low, start, now_ms, retain_ms))
        freed = self._freed.pop(partition, None)
        if freed is not None and not freed.is_certain:
            self._freed[partition] = freed
            return
        if freed is not None:
            _advance_start(partition.data, freed.offset)
        freed = _Freed(low, [each.journal for each in (partition, *beside) if each.journal])
        if freed.is_certain:
            _advance_start(partition.data, low)
        else:
            self._freed[partition] = freed

    async def stop(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def save_changed(self, partitions: Iterable[QueuePartition]) -> None:
        """Writes snapshots so that the next start of a node need not replay anything."""
        for partition in partitions:
            if partition.journal is not None and tail_ns(partition):
                self.save(partition)
        await self.stop()

    async def save_for_others(self, partitions: Iterable[QueuePartition]) -> None:
        """Writes snapshots that spare the next leaders a noticeable part of their work; waits
        until the nodes in sync have them, SAVED_SECONDS_MAX at most."""
        saved = []
        for partition in partitions:
            if partition.journal is not None and tail_ns(partition) >= SNAPSHOT_WORTH_NS:
                self.save(partition)
                saved.append(partition.journal)
        with suppress(TimeoutError, Refusal):
            async with asyncio.timeout(SAVED_SECONDS_MAX):
                await self.stop()
                for journal in saved:
                    await committed(journal.partition, journal.end_offset)


def _before(
    times: list[tuple[int, int]], offset: int, start_offset: int, now_ms: int, retain_ms: int
) -> int:
    """Samples the offset; returns its value `retain_ms` ago, or the start if that is unknown."""
    if not times or now_ms - times[-1][0] >= retain_ms // TIMES_NOTED:
        times.append((now_ms, offset))
    known = start_offset
    while times and times[0][0] <= now_ms - retain_ms:
        known = times.pop(0)[1]
    return known


def _advance_start(partition: Partition, offset: int) -> None:
    """Advances the log's start offset, if that frees a segment."""
    kept = partition.log
    offset = min(offset, kept.durable_offset)
    first = kept.segments[0]
    is_worth = len(kept.segments) > 1 or first.size >= RECLAIM_BYTES_MIN
    if offset > kept.start_offset and first.end_offset <= offset and is_worth:
        try:
            partition.advance_start(offset)
        except Refusal as refusal:
            log.error("space of done messages not reclaimed", error=str(refusal))
