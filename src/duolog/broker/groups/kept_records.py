"""What this node has read of the offsets topic, by partition, in bounded memory.

Kept whoever leads: a leader that is elected again, or a follower that was, goes on from there.
What does not fit begins again with the snapshot on disk.
"""

from collections.abc import Awaitable, Callable, Collection, Generator

from duolog.broker.groups.prefix import StoredPartition, is_valid, unread
from duolog.core.groups.newest_records import NewestRecords
from duolog.core.groups.snapshot import UnusableSnapshot, decode_snapshot
from duolog.observe.logs import get_logger

log = get_logger("groups")

KEPT_BYTES_MAX = 64 << 20
"""Memory for the records of all partitions; those used longest ago are dropped first."""

Run = Callable[[Generator[None, None, NewestRecords]], Awaitable[NewestRecords]]
"""Runs steps to their end, and lets others run between them."""


class Kept:
    """What is known of one copy of a partition."""

    __slots__ = ("identity", "is_doubtful", "newest", "rows", "snapshot_offset")

    def __init__(self, identity: object) -> None:
        self.identity = identity
        self.newest: NewestRecords | None = None
        self.snapshot_offset: int | None = None
        """Offset of the newest usable snapshot, or the log's start; None if not looked for yet."""
        self.rows = 0
        """Number of records in it."""
        self.is_doubtful = False
        """True if no snapshot can be made of what the log holds."""


class KeptRecords:
    def __init__(self, bytes_max: int = KEPT_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._kept: dict[int, Kept] = {}
        """By partition, those used longest ago first."""

    def of(self, stored: StoredPartition) -> Kept:
        kept = self._kept.pop(stored.index, None)
        if kept is None or kept.identity is not stored.identity:
            kept = Kept(stored.identity)
        self._kept[stored.index] = kept
        return kept

    async def recall(self, stored: StoredPartition, run: Run) -> NewestRecords:
        """Returns what was read and is still valid, from memory or a snapshot; else nothing."""
        kept = self.of(stored)
        if kept.newest is None or not is_valid(kept.newest, stored):
            found = await self._newest_snapshot(stored, run)
            # Others may have read on while this waited for the disk.
            kept = self.of(stored)
            if kept.newest is None or not is_valid(kept.newest, stored):
                kept.newest = found or unread(stored)
                kept.snapshot_offset, kept.rows = kept.newest.offset, len(kept.newest.values)
        self._bound(kept)
        return kept.newest

    async def _newest_snapshot(self, stored: StoredPartition, run: Run) -> NewestRecords | None:
        at_most = stored.end_offset
        while True:
            try:
                found = await stored.snapshot(at_most)
            except OSError as error:
                log.warning("groups' snapshots not read", partition=stored.index, error=str(error))
                return None
            if found is None:
                return None
            offset, data = found
            try:
                newest = await run(decode_snapshot(data))
            except UnusableSnapshot as error:
                log.warning(
                    "groups' snapshot not used",
                    partition=stored.index,
                    offset=offset,
                    reason=str(error),
                )
            else:
                if newest.offset == offset and is_valid(newest, stored):
                    return newest
            at_most = offset - 1

    def keep_only(self, held: Collection[StoredPartition]) -> None:
        """Forgets copies that this node does not hold any more, and what is not valid now."""
        copies = {stored.index: stored for stored in held}
        for index, kept in list(self._kept.items()):
            stored = copies.get(index)
            if stored is None or stored.identity is not kept.identity:
                del self._kept[index]
            elif kept.newest is not None and not is_valid(kept.newest, stored):
                kept.newest = None

    def _bound(self, used: Kept) -> None:
        sizes = {
            index: kept.newest.size_bytes
            for index, kept in self._kept.items()
            if kept.newest is not None and kept is not used
        }
        assert used.newest is not None
        left = self._bytes_max - used.newest.size_bytes
        for index in reversed(sizes):
            left -= sizes[index]
            if left < 0:
                self._kept[index].newest = None

    def release(self, stored: StoredPartition) -> None:
        """Drops records that are too large to be kept once they are not needed any more."""
        kept = self.of(stored)
        if kept.newest is not None and kept.newest.size_bytes > self._bytes_max:
            kept.newest = None
        elif kept.newest is not None:
            self._bound(kept)
