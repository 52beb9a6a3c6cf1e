"""One copy of a partition: its log, its high watermark, and those who wait for it.

Partition derives from it. Everything here runs on the event loop without awaiting between a
check and its effect, so there is nothing to lock.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import msgspec

from duolog.broker.catalog import Topic
from duolog.broker.flusher import Flusher
from duolog.broker.reserve import NO_RESERVE, NoReserve
from duolog.broker.waiting import Reader, Waiter
from duolog.core.producers import ProducerTable
from duolog.core.usage.partition_tally import UNMETERED_PARTITION, PartitionTally
from duolog.core.usage.tally import UNMETERED, Tally
from duolog.log.log import Log
from duolog.log.reader import LogSlice
from duolog.model.errors import DiskFull, OffsetOutOfRange, Refusal, StorageFailed
from duolog.model.names import uses_reserve
from duolog.ports.clock import Clock
from duolog.ports.disk import Syncable

PRODUCERS_SNAPSHOT = "producers"

SNAPSHOT_AFTER_BATCHES = 1_000
"""Batches after which the producer state is snapshotted again. Bounds what a restart replays,
apart from batches since the last checkpoint."""


@dataclass(frozen=True, slots=True)
class Parts:
    """Constructor arguments of a replica."""

    topic: Topic
    index: int
    log: Log
    flusher: Flusher
    clock: Clock
    leader_epoch: int
    high_watermark: int | None = None
    """None if all of the log is committed, as it is for a sole replica."""
    reserve: NoReserve = NO_RESERVE


class Copying(Protocol):
    """A follower on another node that copies this log."""

    def end_advanced(self, replica: "Replica") -> None:
        """Called when there are new records to copy."""
        ...

    def watermark_advanced(self, replica: "Replica") -> None:
        """Called when the high watermark rises; the next answer to the follower may tell it."""
        ...


class Replica:
    __slots__ = (
        "_clock",
        "_copying",
        "_failure",
        "_flusher",
        "_producers",
        "_readers",
        "_reserve",
        "_retry_ms",
        "_snapshot",
        "_snapshot_batches",
        "_waiting",
        "_waiting_durable",
        "batches_in",
        "bytes_in",
        "bytes_out",
        "fetched",
        "high_watermark",
        "index",
        "is_incomplete",
        "leader_epoch",
        "log",
        "produced",
        "topic",
        "uses_reserve",
    )

    def __init__(self, parts: Parts) -> None:
        self.topic = parts.topic
        self.index = parts.index
        self.log = parts.log
        self.leader_epoch = parts.leader_epoch
        committed = parts.high_watermark
        self.high_watermark = parts.log.end_offset if committed is None else committed
        """End of the committed records, which readers see. Never moves back on a leader."""
        self.is_incomplete = False
        """True if durable records are missing: such a copy must not lead."""
        self.batches_in = 0
        self._snapshot_batches = 0
        """Value of `batches_in` at the last producer snapshot."""
        self.bytes_in = 0
        self.bytes_out = 0
        self.produced: PartitionTally = UNMETERED_PARTITION
        self.fetched: Tally = UNMETERED
        """Usage by Kafka consumers; `produced` is that by producers."""
        self.uses_reserve = uses_reserve(parts.topic.name)
        """True if it is written on a full disk, too."""
        self._reserve = parts.reserve
        self._flusher = parts.flusher
        self._clock = parts.clock
        self._failure: Refusal | None = None
        self._retry_ms: int | None = None
        """Time from which writes are tried again after a failure; None: never."""
        self._waiting: deque[tuple[int, Waiter]] = deque()
        self._waiting_durable: deque[tuple[int, Waiter]] = deque()
        self._readers: dict[Reader, None] = {}
        self._copying: dict[Copying, None] = {}
        self._snapshot: tuple[int, bytes] | None = None
        """Producer state and its offset, taken but not yet written to disk."""
        self._producers = self._rebuild_producers()

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    def wait_committed(self, end_offset: int, waiter: Waiter) -> None:
        """Settles the waiter once the high watermark, now below the offset, reaches it."""
        self._waiting.append((end_offset, waiter))

    def read(self, offset: int, bytes_max: int) -> LogSlice | None:
        """Whole batches from `offset` on, up to the high watermark; None if there is none yet."""
        if offset >= self.high_watermark:
            if offset > self.log.end_offset:
                raise OffsetOutOfRange(f"offset {offset} is past the end {self.log.end_offset}")
            return None
        try:
            return self.log.read(offset, bytes_max, self.high_watermark)
        except OSError as error:
            raise unreadable(error) from error

    def load(self, piece: LogSlice) -> bytes:
        """Reads the bytes of a slice that `read` returned."""
        try:
            data = piece.file.pread(piece.length, piece.position)
        except OSError as error:
            raise unreadable(error) from error
        if len(data) != piece.length:
            raise StorageFailed("the log's file is shorter than it was")
        return data

    def advance_start(self, offset: int) -> None:
        """Deletes records below the offset, durably, also on a full disk."""
        try:
            self.log.advance_start(offset)
        except DiskFull:
            if not self._reserve.free():
                raise
            self.log.advance_start(offset)

    def _save_epochs(self) -> None:
        """Writes epochs for which the disk had no room."""
        if self.log.lacks_epochs and self._reserve.free():
            self.log.save_epochs()

    def _makes_room(self) -> bool:
        """Closes the gate of the full disk; True if this partition may write again at once."""
        if self.uses_reserve:
            return self._reserve.free()
        self._reserve.close()
        return False

    def add_reader(self, reader: Reader) -> None:
        self._readers[reader] = None

    def remove_reader(self, reader: Reader) -> None:
        self._readers.pop(reader, None)

    def add_copying(self, copying: Copying) -> None:
        self._copying[copying] = None

    def remove_copying(self, copying: Copying) -> None:
        self._copying.pop(copying, None)

    def begin_sync(self) -> tuple[list[Syncable], int]:
        return self.log.begin_sync()

    def finish_sync(self, end_offset: int) -> None:
        self.log.finish_sync(end_offset)

    def synced(self, end_offset: int) -> None:
        self._settle_durable()

    def _advance(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        self.high_watermark = offset
        waiting = self._waiting
        while waiting and waiting[0][0] <= offset:
            waiting.popleft()[1].settle(None)
        if self._readers:
            self._wake_readers()
        if self._copying:
            for copying in tuple(self._copying):
                copying.watermark_advanced(self)

    def _settle_durable(self) -> None:
        """Settles those who wait for this copy alone to be durable."""
        waiting, durable_offset = self._waiting_durable, self.log.durable_offset
        while waiting and waiting[0][0] <= durable_offset:
            waiting.popleft()[1].settle(None)

    def _wake_readers(self) -> None:
        for reader in tuple(self._readers):
            reader.advanced()

    def _wake_all(self) -> None:
        """Wakes all readers and followers, after a change of role or a failure."""
        self._wake_readers()
        for copying in tuple(self._copying):
            copying.end_advanced(self)

    def refuse_waiting(self, failure: Refusal) -> None:
        """Fails those who wait beyond the log's end, after a truncation or a failed write."""
        end_offset = self.log.end_offset
        refused = []
        for waiting in (self._waiting, self._waiting_durable):
            refused += [waiter for offset, waiter in waiting if offset > end_offset]
        self._waiting = deque(each for each in self._waiting if each[0] <= end_offset)
        self._waiting_durable = deque(
            each for each in self._waiting_durable if each[0] <= end_offset
        )
        for waiter in refused:
            waiter.settle(failure)

    def _refuse_all_waiting(self, refusal: Refusal) -> None:
        for waiting in (self._waiting, self._waiting_durable):
            while waiting:
                waiting.popleft()[1].settle(refusal)

    def take_snapshot(self) -> Callable[[], None] | None:
        """Snapshots the producers' state; returns the function that writes it, to be offloaded.

        Returns None until the log is durable up to the snapshot, for the caller to try again: a
        snapshot must not know more than the log after a crash.
        """
        if self._snapshot is None:
            self._snapshot = self.log.end_offset, self._producers.snapshot()
            self._snapshot_batches = self.batches_in
        offset, state = self._snapshot
        if self.log.durable_offset < offset:
            return None
        self._snapshot = None
        return self.log.snapshot_writing(PRODUCERS_SNAPSHOT, offset, state)

    @property
    def batches_since_snapshot(self) -> int:
        return self.batches_in - self._snapshot_batches

    @property
    def wants_snapshot(self) -> bool:
        return self._snapshot is not None or self.batches_since_snapshot >= SNAPSHOT_AFTER_BATCHES

    def expire_producers(self, before_ms: int) -> None:
        self._producers.expire(before_ms)

    def _recall_producers(self) -> None:
        """Rebuilds the producers' state from the log, after a failed write or a truncation.

        The directory is fenced if the rebuild fails, since a repeated batch could not be told
        from a new one; or if the write could not be undone, since a sync may have failed unseen.
        """
        failure = self.log.failure
        try:
            self._producers = self._rebuild_producers()
        except OSError as error:
            failure = failure or error
        if failure is not None:
            self._flusher.give_up(failure)

    def _rebuild_producers(self) -> ProducerTable:
        found = self.log.latest_snapshot(PRODUCERS_SNAPSHOT, self.log.end_offset)
        offset, table = self.log.start_offset, ProducerTable()
        if found is not None:
            try:
                table = ProducerTable.from_snapshot(found[1])
                offset = max(offset, found[0])
            except msgspec.DecodeError:
                table = ProducerTable()
        now_ms = self._clock.now_ms()
        for header in self.log.headers(offset):
            table.replay(header, header.base_offset, now_ms)
        return table


def unreadable(error: OSError) -> StorageFailed:
    return StorageFailed(f"the disk failed: {error.strerror or error}")
