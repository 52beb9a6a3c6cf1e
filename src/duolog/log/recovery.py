"""Opens a partition's directory and makes it whole after a crash.

Only what follows the recovery point is read; everything before it is believed. A torn tail
is cut off. Damage with intact batches behind it is quarantined, never cut.
"""

from dataclasses import dataclass, field

from duolog.config.topic import TopicConfig
from duolog.log.checked_file import parent_of
from duolog.log.epochs import EpochHistory, read_epochs, write_epochs
from duolog.log.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    offset_name,
    parse_name,
)
from duolog.log.index_files import cut_index, load_index
from duolog.log.marks import Marks, read_marks
from duolog.log.quarantine import (
    DamagedRange,
    merge_ranges,
    read_quarantine,
    write_quarantine,
)
from duolog.log.scan import Scanner
from duolog.log.segment import Segment
from duolog.log.snapshot import SnapshotStore
from duolog.log.swap import settle_leftovers
from duolog.log.walk import walk_headers
from duolog.model.errors import CorruptBatch
from duolog.ports.disk import Disk
from duolog.records.header import HEADER_BYTES, BatchHeader, read_header


@dataclass(slots=True)
class RecoveryReport:
    scanned_bytes: int = 0
    """Read and proved batch by batch."""
    truncated_bytes: int = 0
    """Torn tail that was cut off."""
    rebuilt_indexes: list[str] = field(default_factory=list)
    """Index files that were missing or wrong and had to be made again."""
    quarantined: tuple[DamagedRange, ...] = ()
    """All known damage, that of earlier recoveries included."""


@dataclass(slots=True)
class Recovered:
    """What a log starts from. Everything in it is durable."""

    segments: list[Segment]
    marks: Marks
    epochs: EpochHistory
    report: RecoveryReport


def recover(
    disk: Disk, directory: str, config: TopicConfig, *, recovery_point: int, now_ms: int
) -> Recovered:
    return _Recovery(disk, directory, config, recovery_point, now_ms).run()


class _Recovery:
    def __init__(
        self, disk: Disk, directory: str, config: TopicConfig, recovery_point: int, now_ms: int
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._config = config
        self._scan_from = recovery_point
        self._now_ms = now_ms
        self._report = RecoveryReport()
        self._damage: list[DamagedRange] = []
        self._scanned: list[BatchHeader] = []
        """First batch of each epoch that the scan met."""

    def run(self) -> Recovered:
        names = self._disk.list_names(self._directory)
        if not names:
            self._disk.make_directory(self._directory)
            self._disk.directory(parent_of(self._directory)).sync()
        names = settle_leftovers(self._disk, self._directory, names)
        marks = read_marks(self._disk, self._directory)
        if marks.rescan_offset is not None:
            self._scan_from = min(self._scan_from, marks.rescan_offset)
        known_damage = read_quarantine(self._disk, self._directory)
        segments = self._open_segments(names, known_damage, marks)
        segments = self._start_at(segments, marks.start_offset)
        self._settle_damage(segments, known_damage)
        end_offset = segments[-1].end_offset
        epochs = self._settle_epochs(segments, names, end_offset)
        if self._report.scanned_bytes or self._report.truncated_bytes:
            SnapshotStore(self._disk, self._directory).remove_above(end_offset)
            self._disk.directory(self._directory).sync()
        return Recovered(segments, marks, epochs, self._report)

    def _open_segments(
        self, names: list[str], known_damage: list[DamagedRange], marks: Marks
    ) -> list[Segment]:
        parsed = [entry for entry in map(parse_name, names) if entry is not None]
        bases = sorted(base for base, suffix in parsed if suffix == LOG_SUFFIX)
        for base, suffix in parsed:
            if suffix in SEGMENT_SUFFIXES and base not in bases:
                self._disk.remove(f"{self._directory}/{offset_name(base)}{suffix}")
        segments: list[Segment] = []
        for base, following in zip(bases, [*bases[1:], None], strict=True):
            path = f"{self._directory}/{offset_name(base)}{LOG_SUFFIX}"
            segment = Segment(
                self._disk,
                self._directory,
                base,
                end_offset=base if following is None else following,
                size=self._disk.open(path).size(),
                index_interval_bytes=self._config.index_interval_bytes,
            )
            segment.set_damage([found for found in known_damage if found.segment_base == base])
            if following is None or following > self._scan_from:
                self._check(segment, is_last=following is None, cleaned=marks.cleaned_offset)
            segments.append(segment)
        return segments

    def _start_at(self, segments: list[Segment], start_offset: int) -> list[Segment]:
        """The start offset outlives the records: what was deleted is never numbered again."""
        if segments and segments[-1].end_offset >= start_offset:
            return segments
        for segment in segments:
            segment.mark_deleted()
            segment.unlink()
        interval = self._config.index_interval_bytes
        fresh = Segment.create(self._disk, self._directory, start_offset, interval)
        self._disk.directory(self._directory).sync()
        return [fresh]

    def _check(self, segment: Segment, *, is_last: bool, cleaned: int) -> None:
        """Prove what follows the recovery point, and bring the index up to it."""
        file = segment.file
        base = segment.base_offset
        limit = None if is_last else segment.end_offset
        stem = f"{self._directory}/{offset_name(base)}"
        index = load_index(self._disk, stem, segment.size)
        loaded = index.saved
        index.truncate(offset=self._scan_from - base if self._scan_from > base else 0, position=segment.size)
        offset, position, largest = index.last
        offset += base
        if position == segment.size and (is_last or offset == limit):
            segment.end_offset = offset
            segment.activate(index, largest)
            return
