"""Reads a prefix of a partition of the offsets topic, and goes on where the last reading ended.

What was read is kept as long as it says what reading everything would say: the log has the last
record's epoch at its offset, begins where it began, and lacks no record that was not read yet,
because a tombstone that compaction has removed would leave its key for ever.
"""

from collections.abc import Generator, Iterator
from typing import Protocol

from duolog.core.groups.newest_records import NewestRecords
from duolog.model.errors import CorruptBatch
from duolog.observe.logs import get_logger
from duolog.records.header import read_header

log = get_logger("groups")

READ_BYTES_MAX = 128 << 10
"""Bytes that are read from the disk at once; a larger batch is read whole."""


class StoredPartition(Protocol):
    """One copy of a partition of the offsets topic."""

    index: int
    decompressed_bytes_max: int

    @property
    def identity(self) -> object:
        """The same object as long as it is the same copy, opened once."""
        ...

    @property
    def is_in_sync(self) -> bool:
        """True if this copy may be elected."""
        ...

    @property
    def start_offset(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def settled_offset(self) -> int:
        """End of what is committed and durable in this copy."""
        ...

    def epoch_before(self, offset: int) -> int:
        """Leader epoch of the last record below the offset; -1 if there is none."""
        ...

    def version(self) -> object:
        """Stands for the records as they are now, apart from appends and truncations."""
        ...

    def is_version(self, version: object) -> bool:
        """True if compaction has rewritten nothing since that version."""
        ...

    def batches(self, offset: int, bytes_max: int) -> Iterator[memoryview]:
        """Verified batches from the one that holds the offset on; raises CorruptBatch."""
        ...

    def past_damage(self, offset: int) -> int:
        """First offset after the damaged batch at `offset`."""
        ...

    async def snapshot(self, at_most: int) -> tuple[int, bytes] | None:
        """Offset and content of the newest intact snapshot at or below the offset."""
        ...

    async def write_snapshot(self, offset: int, data: bytes) -> None: ...


def unread(stored: StoredPartition) -> NewestRecords:
    """The beginning of reading everything."""
    newest = NewestRecords(stored.start_offset)
    _restart(newest, stored)
    return newest


def is_valid(newest: NewestRecords, stored: StoredPartition) -> bool:
    """True if reading on from here says the same as reading everything."""
    if newest.start_offset != stored.start_offset or newest.offset > stored.end_offset:
        return False
    if newest.offset < newest.dense_from and not stored.is_version(newest.version):
        return False
    return newest.is_doubtful or newest.epoch == stored.epoch_before(newest.offset)


def reading(
    newest: NewestRecords, stored: StoredPartition, end_offset: int
) -> Generator[None, None, list[tuple[bytes, bytes]]]:
    """Reads on up to the offset, step by step; returns the newest records of all keys.

    May be abandoned at any step: what was read is kept.
    """
    if newest.is_doubtful:
        _restart(newest, stored)
    while True:
        if not is_valid(newest, stored):
            _restart(newest, stored)
        if newest.offset >= newest.dense_from:
            # It would keep the files of removed segments open.
            newest.version = None
        if newest.offset >= end_offset:
            return list(newest.values.items())
        yield from _read_some(newest, stored, end_offset)


def _restart(newest: NewestRecords, stored: StoredPartition) -> None:
    newest.restart(stored.start_offset, stored.end_offset, stored.version())


def _read_some(
    newest: NewestRecords, stored: StoredPartition, end_offset: int
) -> Generator[None, None, None]:
    # All at once: the log may be cut or compacted at the next step.
    batches: list[memoryview] = []
    damage: CorruptBatch | None = None
    try:
        batches.extend(stored.batches(newest.offset, READ_BYTES_MAX))
    except CorruptBatch as error:
        damage = error
    if not batches:
        past = end_offset if damage is None else stored.past_damage(newest.offset)
        _skip(newest, stored, past, damage)
    else:
        last = read_header(batches[-1])
        if last.leader_epoch != stored.epoch_before(last.next_offset):
            newest.is_doubtful = True
    for batch in batches:
        header = read_header(batch)
        if header.base_offset >= end_offset:
            _skip(newest, stored, end_offset, None)
            return
        if newest.lacks_before(header):
            _restart(newest, stored)
            return
        try:
            yield from newest.fold(
                header, batch, decompressed_bytes_max=stored.decompressed_bytes_max
            )
        except CorruptBatch as error:
            _skip(newest, stored, header.next_offset, error)
            return
        if newest.offset != header.next_offset:
            return


def _skip(
    newest: NewestRecords, stored: StoredPartition, offset: int, damage: CorruptBatch | None
) -> None:
    """Goes on behind damage, or behind the last record that compaction has left.

    Damage is skipped rather than fatal: without these records a group returns to an older commit
    and reads some messages twice; without a coordinator it would read none.
    """
    if offset > newest.dense_from:
        _restart(newest, stored)
        return
    if damage is not None:
        newest.is_doubtful = True
        log.error(
            "damaged group records skipped, groups fall back to older commits",
            partition=stored.index,
            first_offset=newest.offset,
            next_offset=offset,
            error=str(damage),
        )
    newest.skip_to(offset, stored.epoch_before(offset))
