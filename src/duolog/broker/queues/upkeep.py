"""What a queue's partition needs now and then: retention, snapshots, and its disk space back.

Messages that are done make room when whole segments of them are, except for what is kept for
replay.
"""

import asyncio
from collections.abc import Sequence
from functools import partial

from duolog.broker.partition import Partition
from duolog.broker.queues.journal import SNAPSHOT, Journal
from duolog.broker.queues.queue import Queue
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.core.queues.changes import Trimmed
from duolog.core.queues.deduplication import DEDUPLICATION_MS
from duolog.model.errors import Refusal
from duolog.observe.logs import get_logger
from duolog.ports.disk import Disk

UPKEEP_MS = 5_000
SNAPSHOT_AFTER_BYTES = 4 << 20
"""Of the journal, at least; more where snapshots are larger, so that they stay cheap."""
SNAPSHOT_AFTER_MESSAGES = 50_000
RECLAIM_BYTES_MIN = 4 << 20
"""Below this it is not worth beginning another segment."""

log = get_logger("queues")


class Upkeep:
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._tasks: set[asyncio.Task[None]] = set()
        self._pending: dict[QueuePartition, tuple[int, int, bytes]] = {}
        """Snapshots that must wait until the journal and the messages are durable, up to these
        offsets: after a power cut they would tell of what never was."""
        self._written: dict[QueuePartition, tuple[int, int]] = {}
        """Offset and size of the last snapshot."""
        self._lows: dict[QueuePartition, list[tuple[int, int]]] = {}
        """When which offset was the lowest undone one, where deleted messages are retained."""

    def has_changed(self, partition: QueuePartition) -> bool:
        """Whether a restart would have to find out what it could be told."""
        journal = partition.journal
        return journal is not None and bool(
            journal.bytes_written or partition.enqueued_since_snapshot
        )

    def wants_snapshot(self, partition: QueuePartition) -> bool:
        journal = partition.journal
        if partition in self._pending:
            return True
        if journal is None:
            return partition.enqueued_since_snapshot >= SNAPSHOT_AFTER_MESSAGES
        size = self._written.get(partition, (0, 0))[1]
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
        beside: Sequence[QueuePartition],
        now_ms: int,
    ) -> None:
        """All of it, for a partition that has its journal.

        `beside` are the partitions of subscription queues that read the same messages.
        """
        self._expire(partition, now_ms)
        if self.wants_snapshot(partition):
            self.snapshot(partition)
        if queue.config.source_topic is None:
            self._reclaim(queue, partition, beside, now_ms)
        partition.delivery.forget_sent_before(partition.data.log.start_offset)
        partition.deduplication.expire(now_ms)
        partition.reader.forget()

    def forget(self, partition: QueuePartition) -> None:
        self._pending.pop(partition, None)
        self._written.pop(partition, None)
        self._lows.pop(partition, None)

    def _expire(self, partition: QueuePartition, now_ms: int) -> None:
        delivery = partition.delivery
        before = max(delivery.expired_before(now_ms), partition.data.log.start_offset)
        if delivery.low_offset() < before:
            partition.change(Trimmed(before))

    def snapshot(self, partition: QueuePartition) -> None:
        journal = partition.journal
        assert journal is not None
        pending = self._pending.get(partition)
        if pending is None:
            delivery = partition.delivery
            pending = journal.end_offset, delivery.end_offset, delivery.snapshot()
            self._pending[partition] = pending
            journal.bytes_written = 0
            partition.enqueued_since_snapshot = 0
        if journal.partition.log.durable_offset < pending[0] or (
            partition.data.log.durable_offset < pending[1]
        ):
            return
        del self._pending[partition]
        task = asyncio.ensure_future(self._write(partition, journal, pending[0], pending[2]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _write(
        self, partition: QueuePartition, journal: Journal, offset: int, data: bytes
    ) -> None:
        kept = journal.partition.log
        try:
            await self._disk.offload(partial(kept.write_snapshot, SNAPSHOT, offset, data))
        except OSError as error:
            log.error("a delivery snapshot was not written", error=str(error))
            return
        if partition.is_gone:
            return
        before, _ = self._written.get(partition, (0, 0))
        self._written[partition] = offset, len(data)
        # Two snapshots are kept, and the older one must be of use when the newer is damaged.
        _advance_start(journal.partition, before)

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
            low = min(low, self._low_before(partition, low, now_ms, retain_ms))
        _advance_start(partition.data, low)

    def _low_before(self, partition: QueuePartition, low: int, now_ms: int, retain_ms: int) -> int:
        """The lowest undone offset as it was that long ago."""
        lows = self._lows.setdefault(partition, [])
        if not lows or now_ms - lows[-1][0] >= retain_ms // 64:
            lows.append((now_ms, low))
        known = partition.data.log.start_offset
        while lows and lows[0][0] <= now_ms - retain_ms:
            known = lows.pop(0)[1]
        return known

    async def stop(self) -> None:
        while self._tasks:
            await asyncio.wait(self._tasks)


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
