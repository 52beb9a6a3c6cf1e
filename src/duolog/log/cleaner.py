"""Sealed part of a log: retention, compaction and thinning.

Log derives from it.
"""

from collections.abc import Callable
from contextlib import suppress
from itertools import takewhile

from msgspec.structs import replace

from duolog.config.topic import TopicConfig
from duolog.log.cleaned_segment import CleanedSegment
from duolog.log.compaction import CompactionPlan, plan_compaction
from duolog.log.marks import Marks, write_marks
from duolog.log.receiver import Receiver
from duolog.log.recovery import Recovered
from duolog.log.refusals import not_written
from duolog.log.retention import count_expired, is_too_old, seems_too_old
from duolog.log.rewriting import Rewriter, Rewritten
from duolog.log.segment import Segment
from duolog.log.swap import commit_swap, discard_cleaned, finish_swap
from duolog.log.thinning import THINNED_BYTES_MIN, KeptRanges, Thinner, ThinningPlan
from duolog.model.errors import StorageFailed
from duolog.ports.disk import Disk, Syncable


def always() -> bool:
    return True


class Cleaner(Receiver):
    __slots__ = ("_cuts", "_thinner", "start_offset")

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
        self.start_offset = max(recovered.marks.start_offset, self.segments[0].base_offset)
        """First readable offset."""
        self._cuts = 0
        """Number of truncations so far; a plan from before one refers to offsets that have
        changed."""
        self._thinner: Thinner | None = None

    def roll_if_aged(self, now_ms: int) -> None:
        """Seals the active segment if it is past its age: without appends nothing else would."""
        if self._active.size and now_ms >= self._roll_from_ms and self._failure is None:
            with suppress(OSError):
                self.roll()

    def to_prove(self, now_ms: int) -> list[Segment]:
        """Segments that seem to be past retention, but whose age is not proved yet."""
        aged = takewhile(lambda each: seems_too_old(each, self._config, now_ms), self.segments)
        return [segment for segment in aged if not segment.is_time_proved]

    def expire(self, now_ms: int, up_to_offset: int) -> list[Segment]:
        """Removes segments that are past retention by time or size, or below the start offset.

        Only segments that end at or below `up_to_offset` go. Their files are renamed; the owner
        removes `paths` of the returned segments once nobody can be reading them.
        """
        if self._failure is not None or self._is_released:
            return []
        count = count_expired(
            self.segments[:-1],
            sum(segment.size for segment in self.segments),
            self._config,
            start_offset=self.start_offset,
            up_to_offset=up_to_offset,
            now_ms=now_ms,
        )
        active = self._active
        if (
            count == len(self.segments) - 1
            and active.size > 0
            and active.end_offset <= up_to_offset
            and (is_too_old(active, self._config, now_ms) or active.end_offset <= self.start_offset)
        ):
            # A full disk may have no room for the next segment, and needs the others removed.
            with suppress(OSError):
                self.roll()
                count += 1
        if count == 0:
            return []
        start_offset = max(self.start_offset, self.segments[count].base_offset)
        if start_offset != self.marks.start_offset:
            # Before the files go, so that the start offset never moves back; if a full disk refuses
            # even that, the files must go all the same.
            with suppress(StorageFailed):
                self._write_marks(replace(self.marks, start_offset=start_offset))
        self.start_offset = start_offset
        self.epochs.truncate_start(start_offset)
        return self._retire_first(count)

    def _retire_first(self, count: int) -> list[Segment]:
        """Retires as many as the disk allows: the others lie below the start offset, and go next
        time."""
        retired: list[Segment] = []
        try:
            for segment in self.segments[:count]:
                segment.mark_deleted()
                retired.append(segment)
        except OSError:
            if not retired:
                raise
        del self.segments[: len(retired)]
        self._segments_retired()
        return retired

    def plan_compaction(
        self,
        now_ms: int,
        up_to_offset: int | None = None,
        *,
        may_write: Callable[[], bool] = always,
    ) -> CompactionPlan | None:
        """Plan of a compaction by key; None if there is too little to gain.

        Only segments that end at or below `up_to_offset` take part: a record must not replace an
        earlier one while it may still be truncated.
        """
        if not self._config.cleanup_compact or self._failure is not None or self._is_released:
            return None
        limit = self.durable_offset
        if up_to_offset is not None:
            limit = min(limit, up_to_offset)
        return plan_compaction(
            self._rewriter(may_write),
            [each for each in self.segments[:-1] if each.end_offset <= limit],
            cleaned_offset=self.marks.cleaned_offset,
            start_offset=self.start_offset,
            now_ms=now_ms,
        )

    def plan_thinning(
        self,
        kept_ranges: KeptRanges,
        *,
        below_offset: int,
        bytes_min: int = THINNED_BYTES_MIN,
        may_write: Callable[[], bool] = always,
    ) -> ThinningPlan | None:
        """Plan to drop unwanted records below the offset; None if there is too little to gain.

        `kept_ranges` is asked at once, for one segment after another. A caller whose wanted ranges
        can grow again checks the plan before the swap.
        """
        if self._failure is not None or self._is_released:
            return None
        below_offset = min(below_offset, self.durable_offset)
        sealed = [
            each
            for each in self.segments[:-1]
            if self.start_offset < each.end_offset <= below_offset
        ]
        if not sealed:
            return None
        if self._thinner is None:
            self._thinner = Thinner()
        return self._thinner.plan(
            self._rewriter(may_write), sealed, kept_ranges, bytes_min=bytes_min
        )

    def _rewriter(self, may_write: Callable[[], bool]) -> Rewriter:
        return Rewriter(self._disk, self._path, self._config, self._cuts, may_write)

    def swap(self, result: Rewritten) -> list[Segment]:
        """Puts new segments in place, durably; returns the replaced ones, as `expire` does.

        A group of which a segment has gone meanwhile is discarded. Raises StorageFailed if a swap
        is committed but not finished, which the log cannot survive: see `failure`.
        """
        if self._failure is not None or self._is_released:
            return []
        entries = self._disk.directory(self._path)
        replaced: list[Segment] = []
        for group, cleaned in result.groups:
            place = self._reader.segment_at(cleaned.base_offset)
            span = slice(place, place + len(group))
            if result.cuts != self._cuts or self.segments[span] != list(group):
                self._discard(cleaned)
                continue
            try:
                self._replace(span, cleaned, entries)
            except OSError as error:
                # Reopening the log will finish the swap, or not. Until then nothing may happen to
                # the log that this would undo.
                self._fail(error)
                raise StorageFailed(f"a rewritten segment is not in place: {error}") from error
            replaced += group
        if result.cuts == self._cuts:
            if self._thinner is not None:
                self._thinner.note(result)
            if result.cleaned_offset > self.marks.cleaned_offset:
                # If this fails, the next compaction only reads the same records again.
                with suppress(StorageFailed):
                    self._write_marks(replace(self.marks, cleaned_offset=result.cleaned_offset))
        return replaced

    def discard(self, result: Rewritten) -> None:
        """Removes the new segments of a rewrite that is not wanted any more."""
        if self._failure is None and not self._is_released:
            for _, cleaned in result.groups:
                self._discard(cleaned)

    def _discard(self, cleaned: CleanedSegment) -> None:
        # Files that cannot be removed now are removed when the log is opened again.
        with suppress(OSError):
            discard_cleaned(self._disk, self._path, cleaned.base_offset, cleaned.end_offset)

    def _replace(self, span: slice, cleaned: CleanedSegment, entries: Syncable) -> None:
        base_offset, end_offset, size = cleaned
        commit_swap(self._disk, self._path, base_offset, end_offset, entries)
        for segment in self.segments[span]:
            segment.mark_deleted()
        finish_swap(self._disk, self._path, base_offset, end_offset, entries)
        self.segments[span] = [
            Segment(
                self._disk,
                self._path,
                base_offset,
                end_offset=end_offset,
                size=size,
                index_interval_bytes=self._config.index_interval_bytes,
            )
        ]
        self._segments_retired()

    def _segments_retired(self) -> None:
        self._directory_changed = True
        self._reader.forget()

    def _write_marks(self, marks: Marks) -> None:
        try:
            write_marks(self._disk, self._path, marks)
        except OSError as error:
            raise not_written("the log's marks", error) from error
        self.marks = marks
