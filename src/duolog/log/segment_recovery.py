"""Recovers one segment: verifies what follows the recovery point, completes the index."""

from dataclasses import dataclass, field

from duolog.log.index_files import cut_index, load_index, save_index
from duolog.log.quarantine import DamagedRange
from duolog.log.scan import EpochOf, Scanner
from duolog.log.segment import Segment
from duolog.log.sparse_index import SparseIndex
from duolog.model.errors import CorruptBatch
from duolog.ports.disk import Syncable
from duolog.records.header import HEADER_BYTES, BatchHeader, read_header

ENDS_EARLY = "file ends before the next segment begins"


@dataclass(slots=True)
class Findings:
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    rebuilt_index: bool = False
    damage: list[DamagedRange] = field(default_factory=list)
    epochs: list[tuple[int, int]] = field(default_factory=list)
    """Leader epochs in the order of the scanned batches, each with its first offset."""
    unsynced: list[Syncable] = field(default_factory=list)
    """Targets that have to be synced, besides the active segment, before all of it is durable."""


class SegmentRecovery:
    def __init__(
        self, segment: Segment, scan_from: int, epoch_of: EpochOf, *, is_last: bool
    ) -> None:
        self._segment = segment
        self._scan_from = scan_from
        self._epoch_of = epoch_of
        self._is_last = is_last
        self._index = SparseIndex()
        self._position = 0
        """Position before which everything is trusted or verified."""
        self._offset = segment.base_offset
        self._largest_timestamp = -1
        self._findings = Findings()

    def run(self, now_ms: int) -> Findings:
        segment = self._segment
        stale = self._load_index()
        if self._offset < self._scan_from:
            self._walk_believed()
        if self._position < segment.size:
            self._scan()
        elif not self._is_last and self._offset < segment.end_offset:
            self._note_missing_end()
        if self._is_last:
            segment.end_offset = self._offset
            segment.size = self._position
            segment.activate(self._index, self._largest_timestamp)
            segment.first_append_ms = first_append_ms(segment, now_ms)
        else:
            segment.activate(self._index, self._largest_timestamp)
            segment.add_end_entry()
        if stale:
            # Stale entries would look plausible among those of the batches written next, so they
            # have to be removed, durably, before a recovery point above them is trusted.
            self._findings.unsynced += cut_index(segment.disk, segment.stem, self._index)
        elif not self._is_last:
            save_index(segment.disk, segment.stem, self._index)
        return self._findings

    def _load_index(self) -> bool:
        """Loads the entries up to the recovery point; True if there were others."""
        segment = self._segment
        index, all_plausible = load_index(segment.disk, segment.stem, segment.size)
        stored = len(index)
        believed = self._scan_from - segment.base_offset
        index.truncate(offset=max(0, believed), position=segment.size)
        self._index = index
        relative, self._position, self._largest_timestamp = index.last
        self._offset = segment.base_offset + relative
        return len(index) < stored or not all_plausible

    def _walk_believed(self) -> None:
        """Indexes the batches before the recovery point; they were durable, so headers suffice."""
        try:
            for position, header in self._segment.walk_from(self._position):
                if header.next_offset > self._scan_from:
                    break
                entries = len(self._index)
                self._note(position, header)
                self._findings.rebuilt_index |= len(self._index) > entries
        except CorruptBatch:
            # Not what the recovery point promised: the scan from here on finds out.
            return

    def _scan(self) -> None:
        segment = self._segment
        if self._index.last[1] == self._position > 0 and not self._is_boundary():
            # A wrong index must never make intact batches look damaged: without it the walk begins
            # at the segment's own start.
            self._index = SparseIndex()
            _, self._position, self._largest_timestamp = self._index.last
            self._offset = segment.base_offset
            self._walk_believed()
        start = self._position
        # Pages that a failed sync left in the page cache look written but are not.
        segment.file.forget_cached(start)
        for found in self._scanner().scan(start, self._offset):
            if isinstance(found, DamagedRange):
                if self._is_last and found.end_position == segment.size:
                    self._cut_torn_tail(found)
                else:
                    self._pass_damage(found)
            else:
                self._note(*found)
                self._note_epoch(found[1])
        self._findings.scanned_bytes = segment.size - start
        if not self._is_last:
            self._findings.unsynced.append(segment.file)
            if self._offset < segment.end_offset:
                self._note_missing_end()

    def _is_boundary(self) -> bool:
        first = next(self._scanner().scan(self._position, self._offset), None)
        return not isinstance(first, DamagedRange)

    def _scanner(self) -> Scanner:
        segment = self._segment
        limit = None if self._is_last else segment.end_offset
        return Scanner(
            segment.file,
            segment.base_offset,
            end=segment.size,
            offset_limit=limit,
            epoch_of=self._epoch_of,
        )

    def _cut_torn_tail(self, tail: DamagedRange) -> None:
        self._segment.file.truncate(tail.position)
        self._segment.file.sync()
        self._findings.truncated_bytes = tail.length

    def _pass_damage(self, damage: DamagedRange) -> None:
        self._findings.damage.append(damage)
        self._position, self._offset = damage.end_position, damage.next_offset
        # A boundary right after the damage lets lookups begin there.
        self._index.add(
            self._offset - self._segment.base_offset, self._position, self._largest_timestamp
        )

    def _note_missing_end(self) -> None:
        """Notes that the file ends before the next segment begins: records are missing without a
        trace."""
        segment = self._segment
        self._findings.damage.append(
            DamagedRange(
                segment.base_offset,
                segment.size,
                0,
                self._offset,
                segment.end_offset,
                ENDS_EARLY,
            )
        )

    def _note(self, position: int, header: BatchHeader) -> None:
        if position >= self._index.last[1] + self._segment.index_interval_bytes:
            relative = header.base_offset - self._segment.base_offset
            self._index.add(relative, position, self._largest_timestamp)
        self._largest_timestamp = max(self._largest_timestamp, header.max_timestamp)
        self._position = position + header.size
        self._offset = header.next_offset

    def _note_epoch(self, header: BatchHeader) -> None:
        epochs = self._findings.epochs
        if not epochs or header.leader_epoch > epochs[-1][0]:
            epochs.append((header.leader_epoch, header.base_offset))


def first_append_ms(segment: Segment, now_ms: int) -> int | None:
    """The first record's timestamp if it is plausible, else now: the log has no other time."""
    if segment.size < HEADER_BYTES:
        return None
    timestamp = read_header(segment.file.pread(HEADER_BYTES, 0)).max_timestamp
    return timestamp if 0 <= timestamp < now_ms else now_ms
