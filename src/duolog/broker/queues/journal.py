"""The journal of one partition of a queue: a companion log of its delivery state's changes.

The changes of one turn are gathered and written as one record at its end; consumers are told only
once it is committed, so a restart, or the next leader, finds whatever a consumer was told.
Snapshots are records of the journal, too (see snapshots.py), and let it drop older records.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from duolog.broker.damage import past_damage
from duolog.broker.partition import Partition
from duolog.broker.queues.doubts import OnDamage, pass_over
from duolog.broker.queues.steady_clock import SteadyClock
from duolog.broker.queues.turn import Turn
from duolog.model.errors import CorruptBatch, Refusal, StorageFailed
from duolog.observe.logs import get_logger
from duolog.records.builder import build_batch
from duolog.records.changes import Change, encode_change
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.journal_head import (
    NO_OFFSET,
    JournalHead,
    decode_head,
    encode_head,
)
from duolog.records.record import Record

events = get_logger("queues")

RETRY_MS = 2_000
_READ_BYTES = 4 << 20
_BATCH_BYTES_MAX = 16 << 20
_ONE_BATCH = 1
"""A limit below any batch's size: reads exactly one batch, since the first is read whole."""


class JournalEntry(NamedTuple):
    offset: int
    head: JournalHead
    content: bytes


class Journal:
    __slots__ = (
        "_clock",
        "_gathered",
        "_turn",
        "begun_offset",
        "bytes_written",
        "data",
        "on_damage",
        "on_failure",
        "partition",
        "retry_ms",
        "snapshot_bytes",
        "snapshot_offset",
    )

    def __init__(
        self, partition: Partition, data: Partition, clock: SteadyClock, turn: Turn
    ) -> None:
        self.partition = partition
        self.data = data
        """The partition with the messages."""
        self.bytes_written = 0
        """Bytes of records with changes that were written since the last snapshot."""
        self.snapshot_bytes = 0
        """Size of the last snapshot."""
        self.snapshot_offset = NO_OFFSET
        """First offset of the newest snapshot that is complete, committed and durable."""
        self.begun_offset = NO_OFFSET
        """First offset of a newer snapshot that is still being written or committed."""
        self._clock = clock
        self._turn = turn
        self.on_failure: Callable[[], None] = lambda: None
        """Called after a failed write, to take back the changes applied since the last one."""
        self.on_damage: OnDamage = pass_over
        """Called for damage met while the journal is read."""
        self._gathered: list[bytes] = []
        self.retry_ms = 0
        """Time of the next try after a failed write; 0 while writes succeed."""

    @property
    def end_offset(self) -> int:
        """End offset once the gathered changes, which make one record, are written."""
        return self.partition.log.end_offset + bool(self._gathered)

    @property
    def is_refused(self) -> bool:
        """True from a failed write until `try_again` succeeds: nothing may be decided meanwhile."""
        return self.retry_ms > 0

    @property
    def is_settled(self) -> bool:
        """True if all changes so far are written."""
        return not self._gathered and not self.retry_ms

    def write(self, change: Change) -> int:
        """Gathers a change, to be written at the end of this turn. Returns the offset that the
        high watermark must reach for it to be committed.

        If the write fails, all who wait for the offset are refused.
        """
        if not self._gathered:
            self._turn.write(self)
        self._gathered.append(encode_change(change))
        return self.partition.log.end_offset + 1

    def flush(self) -> None:
        gathered, self._gathered = self._gathered, []
        if not gathered:
            return
        try:
            self.bytes_written += self._append(b"".join(gathered))
        except Refusal as refusal:
            self.retry_ms = self._clock.now_ms() + RETRY_MS
            # The changes are applied already, but not written: they must be taken back.
            self.on_failure()
            self.partition.refuse_waiting(refusal)

    def try_again(self) -> None:
        """Tries whether the journal can be written again, by a record without a change: a change
        that fails has to be taken back."""
        try:
            self._append(b"")
        except Refusal:
            self.retry_ms = self._clock.now_ms() + RETRY_MS
        else:
            self.retry_ms = 0

    def append_piece(self, content: bytes, piece: int, pieces: int) -> None:
        """Writes a piece of a snapshot; raises Refusal if that fails.

        Gathered changes are written first, because their offset was promised to waiters.
        """
        self.flush()
        if self.retry_ms:
            raise refused()
        if piece == 0:
            self.begun_offset = self.partition.log.end_offset
        self._append(content, piece, pieces)

    def _append(self, content: bytes, piece: int = 0, pieces: int = 0) -> int:
        """Appends one record; returns the size of its batch."""
        now_ms = self._clock.now_ms()
        self.partition.check_in_sync()
        head = JournalHead(
            self.data.leader_epoch,
            self.data.high_watermark,
            self.snapshot_offset,
            self.begun_offset,
            piece,
            pieces,
        )
        record = Record(key=encode_head(head), value=content, timestamp=now_ms)
        batch = build_batch((record,))
        self.partition.append_alone(memoryview(batch), now_ms, is_own=True)
        return len(batch)

    def last_head(self) -> JournalHead | None:
        """Head of the last record; None if there is none, or it cannot be read."""
        log = self.partition.log
        try:
            if log.start_offset < log.end_offset:
                for batch in log.batches(log.end_offset - 1, _ONE_BATCH):
                    for record in iter_records(batch, decompressed_bytes_max=_BATCH_BYTES_MAX):
                        return decode_head(record.key)
        except (CorruptBatch, ValueError):
            # Reported by whoever reads the entries.
            return None
        return None

    def entries(self, from_offset: int) -> Iterator[JournalEntry]:
        """Yields all readable entries from the offset on.

        Damaged ones are reported and skipped: the messages that they settled may be delivered
        again, which is better than delivering none.
        """
        log = self.partition.log
        offset = max(from_offset, log.start_offset)
        while offset < log.end_offset:
            reached = offset
            try:
                for batch in log.batches(offset, _READ_BYTES):
                    for record in iter_records(batch, decompressed_bytes_max=_BATCH_BYTES_MAX):
                        assert record.offset is not None
                        if record.offset >= from_offset:
                            head = decode_head(record.key)
                            yield JournalEntry(record.offset, head, record.value or b"")
                    reached = read_header(batch).next_offset
            except (CorruptBatch, ValueError) as error:
                self.on_damage(reached)
                offset = past_damage(log, reached)
                self.report_damage(reached, offset, error)
            else:
                offset = reached if reached > offset else log.end_offset

    def report_damage(self, first_offset: int, next_offset: int, error: Exception) -> None:
        events.error(
            "delivery records damaged, messages may be delivered again",
            topic=self.partition.topic.name,
            partition=self.partition.index,
            first_offset=first_offset,
            next_offset=next_offset,
            error=str(error),
        )


def refused() -> StorageFailed:
    return StorageFailed("the queue's journal could not be written a moment ago; try again")
