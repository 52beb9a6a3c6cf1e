"""Log of one partition.

Driven by one owner on the event loop: `stage` and `write_staged` append, `read` finds what a fetch
sends, `begin_sync` and `finish_sync` frame the owner's group commit (see appender.py). Everything
else is rare; retention and compaction are in cleaner.py.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial

from msgspec.structs import replace

from duolog.config.topic import TopicConfig
from duolog.log import timestamps
from duolog.log.checked_batches import checked_batches
from duolog.log.cleaner import Cleaner
from duolog.log.epochs import EpochHistory
from duolog.log.marks import Marks, read_marks
from duolog.log.quarantine import DamagedRange, merge_ranges, write_quarantine
from duolog.log.reader import LogSlice
from duolog.log.recovery import Recovered, Recovery
from duolog.log.scrub import find_damage, still_damaged
from duolog.log.segment import Segment, spread_damage
from duolog.log.snapshot import SnapshotStore
from duolog.model.errors import OffsetOutOfRange, StorageFailed
from duolog.ports.disk import Disk
from duolog.records.header import BatchHeader

TimestampSearch = Callable[[], tuple[int, int] | None]
"""Search that may be offloaded: it holds its own list of segments, which may expire meanwhile.
Returns offset and timestamp of a record, None if there is none; raises OSError."""

_UNSETTLED = -1


class Log(Cleaner):
    __slots__ = ("_snapshots", "recovery", "settled_offset")

    def __init__(
        self,
        disk: Disk,
        path: str,
        config: TopicConfig,
        recovered: Recovered,
        *,
        recovery_point: int,
    ) -> None:
        super().__init__(disk, path, config, recovered, recovery_point=recovery_point)
        self.recovery = recovered.report
        self._snapshots = SnapshotStore(disk, path)
        self.settled_offset = _UNSETTLED
        """Log end at the last checkpoint that left nothing to save."""

    @classmethod
    def open(
        cls, disk: Disk, path: str, config: TopicConfig, *, recovery_point: int, now_ms: int
    ) -> "Log":
        """Opens or creates the log in the directory; `recovery` reports what had to be repaired.

        Scanned batches are intact but may be in the page cache only: `durable_offset` stays at the
        recovery point until the owner has synced.
        """
        recovered = Recovery(disk, path, config, recovery_point).run(now_ms)
        return cls(disk, path, config, recovered, recovery_point=recovery_point)

    @property
    def is_short(self) -> bool:
        """True if it lacks records that were durable and were not truncated on purpose."""
        return self.end_offset < self.recovery.expected_offset

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def damaged(self) -> tuple[DamagedRange, ...]:
        """Quarantined ranges."""
        return tuple(found for segment in self.segments for found in segment.damage)

    def read(self, offset: int, bytes_max: int, end_offset: int) -> LogSlice | None:
        """Whole batches from the one that holds `offset` on, all below `end_offset`.

        The first is returned whole, however large; more only up to `bytes_max` and the end of the
        segment. None if there is nothing yet. Raises CorruptBatch if the next record is
        quarantined.
        """
        if offset >= end_offset or offset < self.start_offset:
            if self.start_offset <= offset <= self.end_offset:
                return None
            raise OffsetOutOfRange(
                f"offset {offset} is not in the log, which holds"
                f" {self.start_offset} to {self.end_offset}"
            )
        return self._reader.read(offset, bytes_max, end_offset)

    def headers(self, from_offset: int) -> Iterator[BatchHeader]:
        """Headers from the batch that holds the offset on; damage is skipped."""
        for segment in self.segments[self._reader.segment_at(from_offset) :]:
            yield from segment.headers_at(from_offset)

    def batches(self, from_offset: int, bytes_max: int) -> Iterator[memoryview]:
        """Verified batches from the one that holds the offset on; at least one if there is any.

        Ends after about `bytes_max`, or before quarantined damage. Raises CorruptBatch if a batch
        is damaged, or the first one is quarantined.
        """
        end_offset = self.end_offset
        offset = from_offset
        while bytes_max > 0 and (found := self.read(offset, bytes_max, end_offset)) is not None:
            data = memoryview(found.file.pread(found.length, found.position))
            yield from checked_batches(data, end_offset)
            bytes_max -= found.length
            offset = found.next_offset
            if any(damage.first_offset == offset for damage in self.damaged):
                return

    def timestamp_search(self, timestamp_ms: int) -> TimestampSearch:
        """Search for the first record at or after a timestamp."""
        segments = tuple(self.segments)
        return partial(timestamps.find_timestamp, segments, timestamp_ms, self.start_offset)

    def max_timestamp_search(self) -> TimestampSearch:
        """Search for the record with the largest timestamp; the first of several."""
        return partial(timestamps.find_max_timestamp, tuple(self.segments), self.start_offset)

    @property
    def needs_sync(self) -> bool:
        return self.durable_offset < self.end_offset or bool(self._unsynced)

    def rest(self) -> None:
        """Closes the files of an idle log; they are reopened on demand.

        A node may hold more partitions than it may open files.
        """
        if not self.needs_sync and not self._staged and self._failure is None:
            self._active.close_file()
            self._reader.release()

    @property
    def is_settled(self) -> bool:
        """True if nothing was appended or truncated since `settled_offset` was set."""
        return self.settled_offset == self.end_offset

    def checkpoint(self) -> None:
        """Saves what a restart would have to find out again. Needs no sync: it is verifiable."""
        if not self._is_released:
            self._active.save_index()
            self._save_first_epochs()

    def close(self, now_ms: int) -> None:
        """Saves the index up to the very end, so that reopening need not read the log."""
        self._drop_staged()
        if self._failure is None:
            self._active.add_end_entry()
            self._active.save_index()
            self._save_first_epochs()
        if self.marks != read_marks(self._disk, self._path):
            # Tries again what a full disk refused before. No promise depends on it.
            with suppress(StorageFailed):
                self._write_marks(self.marks)
        for segment in self.segments:
            segment.release()

    def release(self) -> None:
        """Closes every file and saves nothing, because the directory was deleted.

        Holders of the log may go on with their duties; these do nothing any more.
        """
        self._is_released = self._puts_off_sync = True
        self._drop_staged()
        self._unsynced.clear()
        for segment in self.segments:
            segment.release()

    def assign_epoch(self, epoch: int) -> bool:
        """Begins a leader epoch at the log end, durable with the next sync; False if the log has
        reached it, or a later one, already."""
        is_new = self.epochs.assign(epoch, self.end_offset)
        if is_new and self._has_epochs_file:
            self.save_epochs()
        return is_new

    def _save_first_epochs(self) -> None:
        """Saves the epochs of a log that has none on disk; without records it needs none."""
        if not self._has_epochs_file and self._active.size:
            with suppress(OSError):
                self.save_epochs()

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """The epoch and where it ended, as Kafka's OffsetForLeaderEpoch answers."""
        return self.epochs.end_offset_for(epoch, self.end_offset)

    def epoch_at(self, offset: int) -> int:
        return self.epochs.epoch_at(offset)

    def write_snapshot(self, kind: str, offset: int, data: bytes) -> None:
        """Writes a snapshot, durably; the two newest of a kind are kept."""
        if self._is_released:
            return
        self._snapshots.write(kind, offset, data)

    def snapshot_writing(self, kind: str, offset: int, data: bytes) -> Callable[[], None]:
        """Returns `write_snapshot` to be offloaded; a truncation meanwhile voids the snapshot."""
        return partial(self._write_unless_cut, self._cuts, kind, offset, data)

    def _write_unless_cut(self, cuts: int, kind: str, offset: int, data: bytes) -> None:
        self.write_snapshot(kind, offset, data)
        # In this order the later of the two, this write or the truncation, removes it.
        if self._cuts != cuts:
            self._snapshots.remove(kind, offset)

    def latest_snapshot(self, kind: str, at_most: int) -> tuple[int, bytes] | None:
        """Offset and content of the newest intact snapshot at or below the offset."""
        return self._snapshots.latest(kind, at_most)

    def advance_start(self, offset: int) -> None:
        """Deletes records below the offset, durably; their segments go with `expire`."""
        if offset > self.end_offset:
            raise OffsetOutOfRange(f"offset {offset} is past the end {self.end_offset}")
        if offset > self.start_offset:
            self._write_marks(replace(self.marks, start_offset=offset))
            self.start_offset = offset
            self.epochs.truncate_start(offset)

    def truncate_to(self, offset: int) -> None:
        """Truncates the log to end at or before the offset, durably. A batch is never split."""
        if offset >= self.end_offset:
            return
        if offset < self.start_offset:
            self.reset_to(offset)
            return
        self._drop_staged()
        kept = self._reader.segment_at(offset)
        segment = self.segments[kept]
        position, end_offset = segment.cut_point(offset)
        # First of all: existing recovery points refer to records that go now.
        marks, rescan = self.marks, end_offset
        if marks.rescan_offset is not None:
            rescan = min(rescan, marks.rescan_offset)
        cleaned = min(end_offset, marks.cleaned_offset)
        self._write_marks(replace(marks, rescan_offset=rescan, cleaned_offset=cleaned))
        self._rescan_until = max(self._rescan_until, self.end_offset)
        self._remove_last(len(self.segments) - kept - 1)
        segment.truncate(position, end_offset)
        self._restart_at(segment)
        if self.end_offset < self.start_offset:
            # The truncated batch began below the start offset, where nothing is written again.
            self.reset_to(self.start_offset)

    def reset_to(self, offset: int) -> None:
        """Drops everything, durably, and continues at the offset."""
        self._drop_staged()
        self._write_marks(replace(self.marks, rescan_offset=0))
        self._rescan_until = max(self._rescan_until, self.end_offset)
        self._remove_last(len(self.segments))
        self._write_marks(Marks(start_offset=offset, cleaned_offset=offset, rescan_offset=0))
        self.segments.append(self._create_segment(offset))
        self.start_offset = offset
        self._restart_at(self.segments[0])

    def _remove_last(self, count: int) -> None:
        """Removes segments from the end, so that a crash in between leaves no gap."""
        for _ in range(count):
            self.segments.pop().remove()
        self._disk.directory(self._path).sync()

    def _restart_at(self, segment: Segment) -> None:
        """Continues at the end of the segment, which is now the last one."""
        self._cuts += 1
        self.settled_offset = _UNSETTLED
        self.end_offset = self.staged_end_offset = segment.end_offset
        self.durable_offset = min(self.durable_offset, self.end_offset)
        self._sync_limit = min(self._sync_limit, self.end_offset)
        self._reader.forget()
        self._set_active(segment)
        self.epochs.truncate_end(self.end_offset)
        if self.save_epochs():
            self._unsynced.pop().sync()
        self._snapshots.remove_above(self.end_offset)
        # Its sync of the directory also makes the renames and removals here durable.
        write_quarantine(self._disk, self._path, self.damaged)

    def sealed_at(self, offset: int) -> Segment | None:
        """The sealed segment that holds the offset; None if the active one does."""
        segment = self.segments[self._reader.segment_at(offset)]
        return None if segment is self._active else segment

    def verification(self, segment: Segment) -> Callable[[], list[DamagedRange]]:
        """Returns a check of every batch of a sealed segment, which lists new damage.

        Reads immutable bytes only and may be offloaded.
        """
        return partial(find_damage, segment, EpochHistory(self.epochs.entries).epoch_at)

    def quarantine(self, ranges: Iterable[DamagedRange]) -> list[DamagedRange]:
        """Withholds the ranges from reads, durably; returns those that are still damaged."""
        added = still_damaged(self.segments[:-1], ranges, self.epochs.epoch_at)
        if added:
            merged = merge_ranges([*self.damaged, *added])
            write_quarantine(self._disk, self._path, merged)
            spread_damage(self.segments, merged)
            self._reader.forget()
        return added
