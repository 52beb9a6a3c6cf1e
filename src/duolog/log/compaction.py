"""Compaction by key: of the records with the same key only the last one stays.

Three steps, so that the heavy one can be offloaded: `plan_compaction` looks at the log,
`CompactionPlan.build` reads immutable files and writes new ones, and `Log.swap` puts them in
place. Offsets, timestamps and producer sequences of what stays do not change.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from duolog.config.topic import TopicConfig
from duolog.log.batch_filter import BatchFilter
from duolog.log.checked_batches import read_checked_batches
from duolog.log.cleaned_segment import CleanedSegment, CleanedWriter
from duolog.log.key_map import KeyMap
from duolog.log.segment import Segment
from duolog.log.walk import SEGMENT_OFFSETS_MAX
from duolog.model.errors import CorruptBatch, Refusal
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.ports.disk import Disk
from duolog.records.header import HEADER_BYTES, NO_PRODUCER_ID, NO_TIMESTAMP, read_header
from duolog.records.iterator import iter_keys


@dataclass(frozen=True, slots=True)
class CompactionResult:
    groups: tuple[tuple[tuple[Segment, ...], CleanedSegment], ...]
    """Which segments each new one replaces."""
    cleaned_offset: int
    """Everything below it has been seen by this or an earlier compaction."""
    cuts: int
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    disk: Disk
    directory: str
    config: TopicConfig
    segments: tuple[Segment, ...]
    """All that may be rewritten, in order; sealed and durable."""
    dirty_from: int
    cuts: int
    """How often the log had been cut by then; after another time the plan is void."""
    now_ms: int
    key_map: KeyMap = field(default_factory=KeyMap)

    def build(self) -> CompactionResult:
        """Write the compacted segments, durably. Touches nothing that the log's owner does."""
        mapped_end = self._map_keys()
        targets = [each for each in self.segments if each.base_offset < mapped_end]
        batch_filter = BatchFilter(
            self.key_map,
            mapped_end=mapped_end,
            last_of_producer=self._last_of_producers(targets),
            now_ms=self.now_ms,
            delete_retention_ms=self.config.delete_retention_ms,
            # A value that hides in a segment left as it is would come back to life.
            drop_tombstones=not any(each.damage for each in self.segments),
        )
        groups = []
        for group in self._group(targets):
            cleaned = self._clean(group, batch_filter)
            if cleaned is not None:
                groups.append((group, cleaned))
        return CompactionResult(
            tuple(groups),
            mapped_end,
            self.cuts,
            bytes_before=sum(each.size for group, _ in groups for each in group),
            bytes_after=sum(cleaned.size for _, cleaned in groups),
        )

    def _map_keys(self) -> int:
        """Note the last offset of each key that is dirty; returns how far that went."""
        mapped_end = self.dirty_from
        for segment in self.segments:
            if segment.end_offset <= self.dirty_from:
                continue
            if segment.damage:
                return mapped_end
            try:
                for batch in read_checked_batches(segment):
                    header = read_header(batch)
                    if header.next_offset <= mapped_end:
                        continue
                    if self.key_map.is_full:
                        return mapped_end
                    if not header.is_control:
                        self._map_batch(batch)
                    mapped_end = header.next_offset
            except CorruptBatch:
                # Left to the scrubber to quarantine; what lies before it can be compacted.
                return mapped_end
            mapped_end = segment.end_offset
        return mapped_end

    def _map_batch(self, batch: memoryview) -> None:
        try:
            for offset, key, _, _ in iter_keys(
                batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX
            ):
                if key is not None:
                    self.key_map.put(key, offset)
        except Refusal:
            # It cannot be opened, so it stays as it is.
            return

    def _last_of_producers(self, segments: Sequence[Segment]) -> frozenset[int]:
        """Base offsets of each producer's last batch, whose sequence a restart must find."""
        last: dict[int, int] = {}
        for segment in segments:
            for _, header in segment.headers_from(0):
                if header.producer_id != NO_PRODUCER_ID:
                    last[header.producer_id] = header.base_offset
        return frozenset(last.values())

    def _group(self, segments: Sequence[Segment]) -> Iterator[tuple[Segment, ...]]:
        """Neighbours that fit one segment together."""
        group: list[Segment] = []
        for segment in segments:
            if group and (
                segment.damage
                or sum(each.size for each in group) + segment.size > self.config.segment_bytes
                or segment.end_offset - group[0].base_offset > SEGMENT_OFFSETS_MAX
            ):
                yield tuple(group)
                group = []
            if not segment.damage:
                group.append(segment)
        if group:
            yield tuple(group)

    def _clean(
        self, group: tuple[Segment, ...], batch_filter: BatchFilter
    ) -> CleanedSegment | None:
        """None when nothing would change, or the group cannot be read."""
        base, end = group[0].base_offset, group[-1].end_offset
        interval = self.config.index_interval_bytes
        writer = CleanedWriter(self.disk, self.directory, base, end, interval)
        changed = len(group) > 1
        try:
            for segment in group:
                for batch in read_checked_batches(segment):
                    # The last batch says where the segment ends: without it, recovery would
                    # take the offsets up to the next segment for lost.
                    is_last = segment is group[-1] and read_header(batch).next_offset == end
                    kept = batch_filter.retain(batch, must_stay=is_last)
                    changed = changed or kept is not batch
                    if kept is not None:
                        writer.append(kept)
        except CorruptBatch:
            changed = False
        except OSError:
            writer.discard()
            raise
        if not changed:
            writer.discard()
            return None
        return writer.finish()


def plan_compaction(
    disk: Disk,
    directory: str,
    config: TopicConfig,
    sealed: Sequence[Segment],
    *,
    cleaned_offset: int,
    start_offset: int,
    cuts: int,
    now_ms: int,
) -> CompactionPlan | None:
    """None when there is too little to gain. The segments are sealed and durable."""
    segments = [each for each in sealed if each.end_offset > start_offset]
    for count, segment in enumerate(segments):
        if segment.end_offset > cleaned_offset and _is_too_young(segment, config, now_ms):
            segments = segments[:count]
            break
    dirty = [each for each in segments if each.end_offset > cleaned_offset]
    if not dirty:
        return None
    dirty_bytes = sum(each.size for each in dirty)
    total_bytes = sum(each.size for each in segments)
    if dirty_bytes < config.min_cleanable_dirty_ratio * total_bytes and not (
        _is_overdue(dirty[0], config, now_ms)
    ):
        return None
    dirty_from = max(cleaned_offset, segments[0].base_offset)
    return CompactionPlan(disk, directory, config, tuple(segments), dirty_from, cuts, now_ms)


def _is_too_young(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    lag_ms = config.min_compaction_lag_ms
    return lag_ms > 0 and segment.largest_timestamp > now_ms - lag_ms


def _is_overdue(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    if segment.size < HEADER_BYTES:
        return False
    timestamp = read_header(segment.file.pread(HEADER_BYTES, 0)).max_timestamp
    return timestamp != NO_TIMESTAMP and now_ms - timestamp > config.max_compaction_lag_ms
