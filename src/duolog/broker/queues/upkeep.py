"""What a queue's partition needs now and then: retention, snapshots, and its disk space back.

Messages that are done make room when whole segments of them are, except for what is kept for
replay.
"""

import asyncio
from collections.abc import Sequence

from duolog.broker.partition import Partition
from duolog.broker.queues.journal import Journal
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.snapshots import SnapshotWriting
from duolog.core.queues.deduplication import DEDUPLICATION_MS
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.records.changes import Cause, Trimmed

UPKEEP_MS = 5_000
SNAPSHOT_AFTER_BYTES = 4 << 20
"""Of the journal, at least; more where snapshots are larger, so that they stay cheap."""
SNAPSHOT_AFTER_MESSAGES = 50_000
TIMES_NOTED = 64
"""Of a retention: how finely it is known what was when."""
RECLAIM_BYTES_MIN = 4 << 20
"""Below this it is not worth beginning another segment."""

log = get_logger("queues")


class _Freed:
    """Messages that are done, as far as journals say that are not committed yet."""

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
        """Snapshots that are not written, or could still be lost."""
        self._sizes: dict[QueuePartition, int] = {}
        """Of the last snapshot."""
        self._lows: dict[QueuePartition, list[tuple[int, int]]] = {}
        """When which offset was the lowest undone one, where deleted messages are retained."""
        self._needed: dict[QueuePartition, list[tuple[int, int]]] = {}
        """When which offset of the journal was the first that recovery needs, likewise."""
        self._freed: dict[QueuePartition, _Freed] = {}
        """What can go once it is certain that it is done."""

    def has_changed(self, partition: QueuePartition) -> bool:
        """Whether a restart would have to find out what it could be told."""
        journal = partition.journal
        return journal is not None and bool(
            journal.bytes_written or partition.enqueued_since_snapshot
        )

    def wants_snapshot(self, partition: QueuePartition) -> bool:
        journal = partition.journal
        if partition in self._writing:
            return True
        if journal is None:
            return partition.enqueued_since_snapshot >= SNAPSHOT_AFTER_MESSAGES
        size = self._sizes.get(partition, 0)
        return (
            journal.bytes_written >= max(SNAPSHOT_AFTER_BYTES, 2 * size)
            or partition.enqueued_since_snapshot >= SNAPSHOT_AFTER_MESSAGES + size // 8
        )

    def is_due(self, partition: QueuePartition, now_ms: int) -> bool:
        """Whether a partition without a journal needs one for its upkeep."""
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
    ) -> None:
        """All of it, for a partition that has its journal.

        `beside` are the partitions of subscription queues that read the same messages, if all
        of them are known.
        """
        self._expire(partition, now_ms)
        if self.wants_snapshot(partition):
            self.snapshot(partition, now_ms, queue.config.retain_deleted_seconds * 1000)
        if queue.config.source_topic is None and beside is not None:
            self._reclaim(queue, partition, beside, now_ms)
        partition.delivery.forget_sent_before(partition.data.log.start_offset)
        partition.deduplication.expire(now_ms)
        partition.reader.forget()

    def forget(self, partition: QueuePartition) -> None:
        self._writing.pop(partition, None)
        self._sizes.pop(partition, None)
        self._lows.pop(partition, None)
        self._needed.pop(partition, None)
        self._freed.pop(partition, None)

    def recalled(self) -> None:
        """Something that was decided was not: what is done is looked at again."""
        self._freed.clear()

    def _expire(self, partition: QueuePartition, now_ms: int) -> None:
        delivery = partition.delivery
        low_offset = delivery.low_offset()
        start_offset = partition.data.log.start_offset
        if low_offset < start_offset:
            partition.change(Trimmed(start_offset, Cause.REMOVED))
        expired_offset = delivery.expired_before(now_ms)
        if max(low_offset, start_offset) < expired_offset:
            partition.change(Trimmed(expired_offset, Cause.EXPIRED))

    def snapshot(self, partition: QueuePartition, now_ms: int, retain_ms: int) -> None:
        """Begin one, or rely on the one that was begun before."""
        journal = partition.journal
        assert journal is not None
        writing = self._writing.get(partition)
        if writing is None:
            self._begin(partition, journal)
        elif writing.is_reliable:
            del self._writing[partition]
            # Two are kept, and the older one must be of use when the newer is damaged.
            needed = writing.rely()
            if retain_ms:
                # Whoever may look at deleted messages may ask what became of them.
                start = journal.partition.log.start_offset
                times = self._needed.setdefault(partition, [])
                needed = _before(times, needed, start, now_ms, retain_ms)
            _advance_start(journal.partition, needed)

    def save(self, partition: QueuePartition) -> None:
        """A snapshot of what is known now, instead of the one that was begun before."""
        assert partition.journal is not None
        self._writing.pop(partition, None)
        self._begin(partition, partition.journal)

    def _begin(self, partition: QueuePartition, journal: Journal) -> None:
        # What is decided but not written is not in the records before the snapshot.
        journal.flush()
        writing = SnapshotWriting(journal, partition.delivery.snapshot())
        journal.bytes_written = 0
        partition.enqueued_since_snapshot = 0
        self._writing[partition] = writing
        self._sizes[partition] = writing.size
        if self._write_piece(partition, writing) and not writing.is_complete:
            task = asyncio.ensure_future(self._write_rest(partition, writing))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _write_rest(self, partition: QueuePartition, writing: SnapshotWriting) -> None:
        """Others are served in between."""
        while not writing.is_complete:
            await asyncio.sleep(0)
            if not self._write_piece(partition, writing):
                return

    def _write_piece(self, partition: QueuePartition, writing: SnapshotWriting) -> bool:
        """False when it failed, or nobody wants it any more."""
        if self._writing.get(partition) is not writing:
            return False
        try:
            writing.write_piece()
        except Refusal as refusal:
            writing.give_up(refusal)
            del self._writing[partition]
            return False
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
            # A deleted message must still be recognised when it is sent again.
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


def _before(
    times: list[tuple[int, int]], offset: int, start_offset: int, now_ms: int, retain_ms: int
) -> int:
    """What the offset was that long ago, by the times that are noted; else the start."""
    if not times or now_ms - times[-1][0] >= retain_ms // TIMES_NOTED:
        times.append((now_ms, offset))
    known = start_offset
    while times and times[0][0] <= now_ms - retain_ms:
        known = times.pop(0)[1]
    return known


def _advance_start(partition: Partition, offset: int) -> None:
    """Forget what lies below, when that frees a segment."""
    kept = partition.log
    offset = min(offset, kept.durable_offset)
    first = kept.segments[0]
    is_worth = len(kept.segments) > 1 or first.size >= RECLAIM_BYTES_MIN
    if offset > kept.start_offset and first.end_offset <= offset and is_worth:
        try:
            kept.advance_start(offset)
        except Refusal as refusal:
            log.error("done messages could not be forgotten", error=str(refusal))
