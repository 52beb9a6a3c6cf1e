"""Compaction by key: keeps only the last record of each key.

Three steps, so that the heavy one can be offloaded: `plan_compaction` inspects the log,
`CompactionPlan.build` reads immutable files and writes new ones (see rewriting.py), and `Log.swap`
puts them in place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from duolog.config.topic import TopicConfig
from duolog.log.checked_batches import read_checked_batches
from duolog.log.key_filter import KeyFilter
from duolog.log.key_map import KeyMap
from duolog.log.rewriting import Rewriter, Rewritten
from duolog.log.segment import Segment
from duolog.model.errors import CorruptBatch, Refusal
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.records.header import HEADER_BYTES, NO_TIMESTAMP, read_header
from duolog.records.iterator import iter_keys


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    rewriter: Rewriter
    segments: tuple[Segment, ...]
    """Segments that may be rewritten, in order; sealed and durable."""
    dirty_from: int
    now_ms: int
    key_map: KeyMap = field(default_factory=KeyMap)

    def build(self) -> Rewritten:
        """Writes the compacted segments, durably; touches nothing that the log's owner does."""
        mapped_end = self._map_keys()
        rewriter = self.rewriter
        key_filter = KeyFilter(
            self.key_map,
            mapped_end=mapped_end,
            now_ms=self.now_ms,
            delete_retention_ms=rewriter.config.delete_retention_ms,
            # A value that hides in a damaged segment, which is left as it is, would come back to
            # life.
            drop_tombstones=not any(each.damage for each in self.segments),
        )
        targets = [
            each for each in self.segments if each.base_offset < mapped_end and not each.damage
        ]
        groups = rewriter.rewrite(tuple(rewriter.neighbours(targets)), key_filter)
        return Rewritten(groups, rewriter.cuts, cleaned_offset=mapped_end)

    def _map_keys(self) -> int:
        """Maps the last offset of each dirty key; returns the offset up to which that is
        complete."""
        mapped_end = self.dirty_from
        for segment in self.segments:
            if segment.end_offset <= self.dirty_from:
                continue
            if segment.damage:
                return mapped_end
            try:
                for header, batch in read_checked_batches(segment):
                    if header.next_offset <= mapped_end:
                        continue
                    if self.key_map.is_full:
                        return mapped_end
                    if not header.is_control:
                        self._map_batch(batch)
                    mapped_end = header.next_offset
            except CorruptBatch:
                # Left to the scrubber to quarantine; everything before it can be compacted.
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


def plan_compaction(
    rewriter: Rewriter,
    sealed: Sequence[Segment],
    *,
    cleaned_offset: int,
    start_offset: int,
    now_ms: int,
) -> CompactionPlan | None:
    """Plan over sealed, durable segments; None if there is too little to gain."""
    config = rewriter.config
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
    return CompactionPlan(rewriter, tuple(segments), dirty_from, now_ms)


def _is_too_young(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    lag_ms = config.min_compaction_lag_ms
    return lag_ms > 0 and segment.largest_timestamp > now_ms - lag_ms


def _is_overdue(segment: Segment, config: TopicConfig, now_ms: int) -> bool:
    if segment.size < HEADER_BYTES:
        return False
    timestamp = read_header(segment.file.pread(HEADER_BYTES, 0)).max_timestamp
    return timestamp != NO_TIMESTAMP and now_ms - timestamp > config.max_compaction_lag_ms
