"""Opens a partition's directory and repairs it after a crash.

Only what follows the recovery point is read; everything before it is trusted. A torn tail is
truncated, also if empty segments follow it. Damage with intact batches after it is quarantined,
never cut.
"""

from dataclasses import dataclass, field
from itertools import zip_longest

from msgspec.structs import replace

from duolog.config.topic import TopicConfig
from duolog.log.checked_file import parent_of
from duolog.log.epochs import EPOCHS_FILE, NO_EPOCH, EpochHistory, read_epochs, write_epochs
from duolog.log.file_names import LOG_SUFFIX, SEGMENT_SUFFIXES, offset_name, parse_name
from duolog.log.marks import MARKS_FILE, Marks, read_marks, write_marks
from duolog.log.quarantine import (
    QUARANTINE_FILE,
    DamagedRange,
    merge_ranges,
    read_quarantine,
    write_quarantine,
)
from duolog.log.scan import EpochOf
from duolog.log.segment import Segment, spread_damage
from duolog.log.segment_recovery import SegmentRecovery, first_append_ms
from duolog.log.snapshot import SnapshotStore
from duolog.log.swap import settle_leftovers
from duolog.ports.disk import Disk, Syncable


@dataclass(slots=True)
class RecoveryReport:
    scanned_bytes: int = 0
    """Bytes read and verified batch by batch."""
    truncated_bytes: int = 0
    """Bytes of torn tails that were truncated."""
    rebuilt_indexes: list[str] = field(default_factory=list)
    """Segments whose index lacked entries before the recovery point."""
    quarantined: tuple[DamagedRange, ...] = ()
    """All known damage, that of earlier recoveries included."""
    expected_offset: int = 0
    """Offset up to which records were durable and have not been truncated on purpose."""


@dataclass(slots=True)
class Recovered:
    """Recovered state from which a log starts."""

    segments: list[Segment]
    marks: Marks
    epochs: EpochHistory
    has_epochs_file: bool
    report: RecoveryReport
    durable_offset: int
    """Offset below which everything was durable before; scanned batches may be in the page cache
    only."""
    unsynced: list[Syncable]
    """Targets that have to be synced, besides the active segment, before all of it is durable."""


class Recovery:
    def __init__(
        self, disk: Disk, directory: str, config: TopicConfig, recovery_point: int
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._interval_bytes = config.index_interval_bytes
        self._scan_from = recovery_point
        self._start_offset = 0
        """Start offset of the log: records below it are gone, whatever their state."""
        self._report = RecoveryReport()
        self._epoch_of: EpochOf = lambda offset: NO_EPOCH
        self._found_damage: list[DamagedRange] = []
        self._found_epochs: list[tuple[int, int]] = []
        self._unsynced: list[Syncable] = []

    def run(self, now_ms: int) -> Recovered:
        names = self._disk.list_names(self._directory)
        if not names:
            self._disk.make_directory(self._directory)
            self._disk.directory(parent_of(self._directory)).sync()
        names = settle_leftovers(self._disk, self._directory, names)
        # Most logs have only their segments, and there may be thousands of logs.
        marks = read_marks(self._disk, self._directory) if MARKS_FILE in names else Marks()
        if marks.rescan_offset is not None:
            self._scan_from = min(self._scan_from, marks.rescan_offset)
        self._report.expected_offset = self._scan_from
        known_damage: list[DamagedRange] = []
        if QUARANTINE_FILE in names:
            known_damage = read_quarantine(self._disk, self._directory)
        self._start_offset = marks.start_offset
        stored = None
        if EPOCHS_FILE in names:
            stored = read_epochs(self._disk, self._directory)
        if stored is not None:
            self._epoch_of = stored.closed_epoch_at
        segments = self._open_segments(names, known_damage, now_ms)
        self._cut_lost_end(segments, now_ms)
        segments = self._start_at(segments)
        self._settle_damage(segments, known_damage)
        epochs = self._settle_epochs(segments, stored)
        end_offset = segments[-1].end_offset
        if SnapshotStore(self._disk, self._directory).remove_above(end_offset, names):
            self._disk.directory(self._directory).sync()
        durable_offset = min(self._scan_from, end_offset)
        if durable_offset < self._scan_from:
            # The recovery point refers to records that are not there. It may be read again before
            # it is corrected, and must not vouch for others at the same offsets.
            marks = replace(marks, rescan_offset=durable_offset)
            write_marks(self._disk, self._directory, marks)
        return Recovered(
            segments,
            marks,
            epochs,
            EPOCHS_FILE in names or epochs.latest != NO_EPOCH,
            self._report,
            durable_offset,
            self._unsynced,
        )

    def _open_segments(
        self, names: list[str], known_damage: list[DamagedRange], now_ms: int
    ) -> list[Segment]:
        parsed = [entry for entry in map(parse_name, names) if entry is not None]
        bases = [base for base, suffix in parsed if suffix == LOG_SUFFIX]
        with_log = set(bases)
        for base, suffix in parsed:
            if suffix in SEGMENT_SUFFIXES and base not in with_log:
                self._disk.remove(f"{self._directory}/{offset_name(base)}{suffix}")
        segments: list[Segment] = []
        for base, following in zip_longest(bases, bases[1:]):
            segment = Segment(
                self._disk,
                self._directory,
                base,
                end_offset=base if following is None else following,
                size=0,
                index_interval_bytes=self._interval_bytes,
            )
            segment.size = segment.file.size()
            if following is not None or segment.size == 0:
                segment.release()
            segment.set_damage([found for found in known_damage if found.segment_base == base])
            if following is None or following > max(self._scan_from, self._start_offset):
                self._recover_segment(segment, is_last=following is None, now_ms=now_ms)
            segments.append(segment)
        return segments

    def _recover_segment(self, segment: Segment, *, is_last: bool, now_ms: int) -> None:
        findings = SegmentRecovery(segment, self._scan_from, self._epoch_of, is_last=is_last).run(
            now_ms
        )
        self._report.scanned_bytes += findings.scanned_bytes
        self._report.truncated_bytes += findings.truncated_bytes
        if findings.rebuilt_index:
            self._report.rebuilt_indexes.append(segment.path)
        self._found_damage += findings.damage
        self._found_epochs += findings.epochs
        self._unsynced += findings.unsynced

    def _cut_lost_end(self, segments: list[Segment], now_ms: int) -> None:
        """Truncates a torn tail whose segment was sealed already, if only empty segments follow it.

        The name of the next segment can be durable before the end of this one is.
        """
        count = len(segments)
        while len(segments) > 1 and segments[-1].size == 0:
            segment = segments[-2]
            lost = next((each for each in self._found_damage if _is_end_of(each, segment)), None)
            if lost is None or lost.first_offset < self._scan_from:
                break
            self._found_damage.remove(lost)
            self._report.truncated_bytes += lost.length
            spread_damage([segment], merge_ranges({*segment.damage, *self._found_damage}))
            segment.truncate(lost.position, lost.first_offset)
            segment.first_append_ms = first_append_ms(segment, now_ms)
            segments.pop().remove()
        if len(segments) < count:
            # Durably: the segment will grow past the base offsets of those that were removed.
            self._disk.directory(self._directory).sync()

    def _start_at(self, segments: list[Segment]) -> list[Segment]:
        """Makes the log end at or above the start offset, so that deleted offsets are never
        reused."""
        if segments and segments[-1].end_offset >= self._start_offset:
            return segments
        for segment in segments:
            segment.remove()
        interval = self._interval_bytes
        return [Segment.create(self._disk, self._directory, self._start_offset, interval)]

    def _settle_damage(self, segments: list[Segment], known: list[DamagedRange]) -> None:
        present = {
            segment.base_offset: segment
            for segment in segments
            if segment.end_offset > self._start_offset
        }
        ranges = merge_ranges(
            found
            for found in {*known, *self._found_damage}
            if (segment := present.get(found.segment_base)) is not None
            and found.end_position <= segment.size
            and found.next_offset <= segment.end_offset
        )
        if list(ranges) != known:
            write_quarantine(self._disk, self._directory, ranges)
            spread_damage(segments, ranges)
        self._report.quarantined = ranges

    def _settle_epochs(self, segments: list[Segment], stored: EpochHistory | None) -> EpochHistory:
        if stored is None:
            history = EpochHistory()
            for segment in segments:
                for _, header in segment.headers_from(0):
                    history.replay(header)
        else:
            history = EpochHistory(stored.entries)
        for epoch, start_offset in self._found_epochs:
            if epoch < history.epoch_at(start_offset):
                # The stored epoch has no record left, and the history was not saved again.
                history.truncate_end(start_offset)
            history.assign(epoch, start_offset)
        history.truncate_end(segments[-1].end_offset + 1)
        if history.entries != (stored.entries if stored else []):
            write_epochs(self._disk, self._directory, history)
        return history


def _is_end_of(damage: DamagedRange, segment: Segment) -> bool:
    return (damage.segment_base, damage.end_position, damage.next_offset) == (
        segment.base_offset,
        segment.size,
        segment.end_offset,
    )
