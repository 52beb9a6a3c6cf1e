"""Decides which records of a batch compaction by key keeps."""

from duolog.log.key_map import KeyMap
from duolog.model.errors import Refusal
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.records.builder import rebuild_batch
from duolog.records.header import DELETE_HORIZON_BIT, BatchHeader
from duolog.records.iterator import iter_keys


class KeyFilter:
    def __init__(
        self,
        key_map: KeyMap,
        *,
        mapped_end: int,
        now_ms: int,
        delete_retention_ms: int,
        drop_tombstones: bool,
    ) -> None:
        self._key_map = key_map
        self._mapped_end = mapped_end
        self._now_ms = now_ms
        self._delete_horizon_ms = now_ms + delete_retention_ms
        self._drop_tombstones = drop_tombstones

    def retain(
        self, header: BatchHeader, batch: memoryview, *, must_stay: bool
    ) -> memoryview | bytearray | None:
        if header.is_control or header.base_offset >= self._mapped_end:
            return batch
        if header.record_count == 0:
            return batch if must_stay else None
        try:
            records = list(iter_keys(batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX))
        except Refusal:
            # Unreadable content cannot be known to be outdated.
            return batch
        tombstones_go = self._drop_tombstones and self._is_past_horizon(header)
        kept: list[memoryview] = []
        keeps_tombstone = False
        for offset, key, is_tombstone, encoded in records:
            if offset < self._mapped_end:
                if key is None or self._key_map.has_later(key, offset):
                    continue
                if is_tombstone and tombstones_go:
                    continue
            kept.append(encoded)
            keeps_tombstone = keeps_tombstone or is_tombstone
        if not kept:
            return rebuild_batch(header, []) if must_stay else None
        if keeps_tombstone and not header.attributes & DELETE_HORIZON_BIT:
            # From now on, readers that are behind have that long to see the tombstone.
            return rebuild_batch(header, kept, delete_horizon_ms=self._delete_horizon_ms)
        return batch if len(kept) == len(records) else rebuild_batch(header, kept)

    def _is_past_horizon(self, header: BatchHeader) -> bool:
        return (
            bool(header.attributes & DELETE_HORIZON_BIT) and header.base_timestamp <= self._now_ms
        )
