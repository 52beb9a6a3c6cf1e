"""Append path of a log: stages, writes, rolls segments, and tracks what is durable.

Log derives from it, so that an append costs as few calls as possible.
"""

from struct import Struct
from typing import NoReturn

from msgspec.structs import replace

from duolog.config.topic import TopicConfig
from duolog.log.marks import Marks
from duolog.log.reader import LogReader
from duolog.log.recovery import Recovered
from duolog.log.refusals import not_written
from duolog.log.runs import plan_runs
from duolog.log.segment import Segment
from duolog.log.walk import SEGMENT_OFFSETS_MAX
from duolog.ports.disk import Disk, Syncable
from duolog.records.header import BatchHeader

_NEVER = (1 << 63) - 1
_pack_place = Struct(">qii").pack_into
"""Base offset, length, leader epoch: the first three fields of a batch, outside its checksum."""


class Appender:
    __slots__ = (
        "_active",
        "_config",
        "_directory_changed",
        "_disk",
        "_failure",
        "_is_released",
        "_path",
        "_puts_off_sync",
        "_reader",
        "_rescan_until",
        "_roll_above_bytes",
        "_roll_above_offset",
        "_roll_from_ms",
        "_staged",
        "_staged_bytes",
        "_staged_headers",
        "_sync_limit",
        "_unsynced",
        "dropped",
        "durable_offset",
        "end_offset",
        "marks",
        "segments",
        "staged_end_offset",
    )

    def __init__(
        self,
        disk: Disk,
        path: str,
        config: TopicConfig,
        recovered: Recovered,
        *,
        recovery_point: int,
    ) -> None:
        self._disk = disk
        self._path = path
        self._config = config
        self.segments: list[Segment] = recovered.segments
        """Segments in ascending order, never empty; the last one is active."""
        self.marks: Marks = recovered.marks
        self.end_offset = self.segments[-1].end_offset
        """Next offset to write; staged batches do not count."""
        self.staged_end_offset = self.end_offset
        """Offset of the next batch to stage. It runs ahead of `end_offset` within a turn: batches
        get their offsets one by one and reach the file together, in one write. A failed write
        sets it back, so that nobody reads, or replicates, an offset that no file holds."""
        self.durable_offset = recovered.durable_offset
        """Offset below which everything is on stable storage."""
        self._rescan_until = recovery_point
        """Upper bound of recovery points that the owner may have written, beside the durable
        offset."""
        self._unsynced = recovered.unsynced
        self._directory_changed = True
        self._is_released = False
        """True if the directory was deleted: nothing may be written to its path any more."""
        self._puts_off_sync = False
        """True if nothing may count as durable now: the directory was deleted, or a full disk has
        refused a file that must be durable with the records."""
        self._sync_limit = _NEVER
        self._staged: list[memoryview] = []
        self._staged_headers: list[BatchHeader] = []
        self._staged_bytes = 0
        self.dropped = (0, 0)
        """Batches and bytes that were staged when a write failed, and are not in the log."""
        self._failure: OSError | None = None
        """Error after which only reopening the log can tell what its files hold; else None."""
        self._reader = LogReader(self.segments)
        self._active: Segment = self.segments[-1]
        self._set_active(self._active)

    @property
    def failure(self) -> OSError | None:
        """The error after which only a restart can settle what the files hold; None while there is
        none.

        A failed write could not be undone, or a committed swap not be finished. A sync may be the
        cause, so writes before it must not be taken for durable any more.
        """
        return self._failure

    @property
    def config(self) -> TopicConfig:
        return self._config

    @config.setter
    def config(self, config: TopicConfig) -> None:
        self._config = config
        self._set_active(self._active)

    def stage(self, batch: memoryview, header: BatchHeader, leader_epoch: int) -> int:
        """Writes the batch's offset and epoch into its own bytes and queues it; returns the base
        offset.

        The batch has been validated, and stays untouched until `write_staged`.
        """
        base_offset = self.staged_end_offset
        _pack_place(batch, 0, base_offset, header[1], leader_epoch)
        self._staged.append(batch)
        self._staged_headers.append(header)
        self._staged_bytes += len(batch)
        self.staged_end_offset = base_offset + header[6] + 1
        return base_offset

    def append(
        self, batch: memoryview, header: BatchHeader, leader_epoch: int, now_ms: int
    ) -> tuple[int, int]:
        """Stages and writes one batch, while nothing else is staged.

        Returns its base offset and the next one.
        """
        assert not self._staged
        base_offset = self.end_offset
        end_offset = base_offset + header[6] + 1
        active = self._active
        position = active.size
        size = len(batch)
        if (
            position + size > self._roll_above_bytes
            or now_ms >= self._roll_from_ms
            or end_offset > self._roll_above_offset
        ):
            self.stage(batch, header, leader_epoch)
            self.write_staged(now_ms)
            return base_offset, end_offset
        _pack_place(batch, 0, base_offset, header[1], leader_epoch)
        try:
            active.file.pwrite(batch, position)
        except OSError as error:
            self._undo_write([], error)
        active.note_one(size, end_offset, header[8])
        self.end_offset = self.staged_end_offset = end_offset
        return base_offset, end_offset

    def write_staged(self, now_ms: int) -> None:
        """Writes the staged batches, with one call to the disk unless the segment is full.

        Raises StorageFailed if none of them is, or ever will be, in the log.
        """
        staged = self._staged
        if not staged:
            return
        active = self._active
        size = active.size
        if (
            size + self._staged_bytes > self._roll_above_bytes
            or now_ms >= self._roll_from_ms
            or self.staged_end_offset > self._roll_above_offset
        ):
            self._write_rolling(now_ms)
        else:
            try:
                active.file.pwritev(staged, size)
            except OSError as error:
                self._undo_write([], error)
            self.end_offset = active.note_appended(self._staged_headers, self.end_offset)
        staged.clear()
        self._staged_headers.clear()
        self._staged_bytes = 0

    def _write_rolling(self, now_ms: int) -> None:
        """Writes the staged batches where the segment may have to roll before or in between.

        Nothing is noted before all is written, so that a failure leaves no trace.
        """
        if self._failure is not None:
            self._undo_write([], self._failure)
        runs = plan_runs(
            self._active,
            self._staged,
            self._staged_headers,
            segment_bytes=self._config.segment_bytes,
            is_aged=self._active.size > 0 and now_ms >= self._roll_from_ms,
        )
        targets: list[Segment] = []
        try:
            for run in runs:
                base = run.base_offset
                targets.append(self._active if base is None else self._create_segment(base))
                targets[-1].file.pwritev(run.batches, targets[-1].size)
        except OSError as error:
            self._undo_write([each for each in targets if each is not self._active], error)
        for segment, run in zip(targets, runs, strict=True):
            if segment is not self._active:
                self._follow_with(segment)
            if segment.first_append_ms is None:
                segment.first_append_ms = now_ms
            self.end_offset = segment.note_appended(run.headers, self.end_offset)
        self._set_active(self._active)

    def _undo_write(self, created: list[Segment], error: OSError) -> NoReturn:
        """Restores the files as if nothing had been staged, and raises StorageFailed."""
        self._drop_staged()
        try:
            for segment in created:
                segment.remove()
            self._active.file.truncate(self._active.size)
            # Durably, or a crash could bring back records whose producer was told that they failed.
            self._active.file.sync()
            if created:
                self._disk.directory(self._path).sync()
        except OSError as second:
            # A part of a batch may be left past the end, where the next one would follow it.
            self._fail(second)
        raise not_written("the log", error) from error

    def _fail(self, error: OSError) -> None:
        """Refuses every write from now on."""
        self._failure = error
        self._roll_from_ms = -1

    def _drop_staged(self) -> None:
        self.dropped = len(self._staged), self._staged_bytes
        self._staged.clear()
        self._staged_headers.clear()
        self._staged_bytes = 0
        self.staged_end_offset = self.end_offset

    def _create_segment(self, base_offset: int) -> Segment:
        interval = self._config.index_interval_bytes
        return Segment.create(self._disk, self._path, base_offset, interval)

    def roll(self) -> None:
        """Seals the active segment, which is not empty, and begins another."""
        if self._is_released:
            return
        self._follow_with(self._create_segment(self.end_offset))
        self._set_active(self._active)

    def _follow_with(self, segment: Segment) -> None:
        sealed = self._active
        sealed.seal()
        self._unsynced.append(sealed.file)
        self._directory_changed = True
        self.segments.append(segment)
        self._active = segment
        self._reader.keep_open(sealed)

    def _set_active(self, segment: Segment) -> None:
        """Precomputes the limits that `append` and `write_staged` compare with."""
        config = self._config
        self._active = segment
        self._roll_above_bytes = config.segment_bytes
        self._roll_above_offset = segment.base_offset + SEGMENT_OFFSETS_MAX
        roll_after_ms = config.segment_ms
        if config.cleanup_compact:
            roll_after_ms = min(roll_after_ms, config.max_compaction_lag_ms)
        if self._failure is not None or segment.first_append_ms is None:
            self._roll_from_ms = -1
        else:
            self._roll_from_ms = segment.first_append_ms + roll_after_ms

    def begin_sync(self) -> tuple[list[Syncable], int]:
        """Targets to sync now, and the offset below which everything is durable afterwards.

        An OSError changes nothing: the same targets are still due.
        """
        if self._puts_off_sync and not self._may_sync():
            return [], self.durable_offset
        targets = list(self._unsynced)
        if self.end_offset > self.durable_offset:
            targets.append(self._active.file)
        if self._directory_changed:
            targets.append(self._disk.directory(self._path))
        self._unsynced.clear()
        self._directory_changed = False
        self._sync_limit = _NEVER
        return targets, self.end_offset

    def _may_sync(self) -> bool:
        return not self._is_released

    def finish_sync(self, end_offset: int) -> None:
        """Notes that everything that the last `begin_sync` returned is synced."""
        # Offsets that were cut meanwhile, and written again, were not part of that sync.
        end_offset = min(end_offset, self._sync_limit)
        self.durable_offset = max(self.durable_offset, end_offset)
        if self.marks.rescan_offset is not None and self.durable_offset >= self._rescan_until:
            # Recovery points up to there are true again. Saved with the next marks: until then a
            # restart only scans more than necessary.
            self.marks = replace(self.marks, rescan_offset=None)
