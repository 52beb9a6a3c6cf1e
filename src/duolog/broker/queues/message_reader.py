"""Reads the records that a queue hands out, with prefetch.

Consumers of a standard queue take messages in log order, so a read that continues where the last
one ended prefetches a block. A FIFO queue jumps between messages of a group while its other groups
need those in between: records that were read on the way are kept for a while.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import count, repeat
from typing import NamedTuple

from duolog.broker.partition import Partition
from duolog.broker.queues.doubts import OnDamage, pass_over
from duolog.core.queues.plain_batch import plain_values
from duolog.core.queues.ranges import as_run
from duolog.model.errors import CorruptBatch, OffsetOutOfRange
from duolog.model.limits import STORED_BATCH_OPENED_BYTES_MAX
from duolog.observe.logs import get_logger
from duolog.records.checksum import is_intact
from duolog.records.header import BatchHeader
from duolog.records.iterator import iter_batches, records_of
from duolog.records.record import Record

BLOCK_BYTES = 64 * 1024
KEPT_BYTES_MAX = 2 * 1024 * 1024
"""Maximum bytes of kept values: enough for ten messages of each of a hundred groups."""
KEPT_RECORDS_MAX = 4_096
"""Maximum number of kept records, since a small compressed batch can hold millions."""
_ONE_BATCH = 1
"""A limit below any batch's size: reads exactly one batch, since the first is read whole."""

_to_record: Callable[[tuple[object, ...]], Record] = partial(tuple.__new__, Record)

log = get_logger("queues")


class PlainRun(NamedTuple):
    """Consecutive records that have a value and nothing else."""

    first_offset: int
    values: list[bytes]
    timestamps: list[int]

    @property
    def offsets(self) -> range:
        return range(self.first_offset, self.first_offset + len(self.values))

    def records(self) -> list[Record]:
        # Equal to calling Record for each, in a quarter of the time.
        fields = zip(
            repeat(None), self.values, repeat(()), self.timestamps, count(self.first_offset)
        )
        return list(map(_to_record, fields))


class MessageReader:
    __slots__ = (
        "_ahead",
        "_ahead_offset",
        "_ahead_times",
        "_damaged_offset",
        "_kept",
        "_kept_bytes",
        "_next_offset",
        "_partition",
        "on_damage",
    )

    def __init__(self, partition: Partition) -> None:
        self._partition = partition
        self._ahead: list[bytes] = []
        """Prefetched values of consecutive plain records: at most a block, or one batch."""
        self._ahead_times: list[int] = []
        """Timestamps of the prefetched values."""
        self._ahead_offset = 0
        """Offset of the first prefetched value."""
        self._kept: OrderedDict[int, Record] = OrderedDict()
        """Other records that were read and not taken, by offset, oldest first."""
        self._kept_bytes = 0
        self._next_offset = 0
        """Offset after the last read; a read from here prefetches a block."""
        self._damaged_offset = -1
        """Offset of the damage reported last."""
        self.on_damage: OnDamage = pass_over

    def take(self, offset: int) -> Record | None:
        """Takes a record; None if it is gone: expired, compacted away, or damaged.

        Raises StorageFailed if the disk cannot be read, or another replica must serve the record.
        """
        return self.take_each((offset,))[0]

    def take_plain(self, offsets: Sequence[int]) -> PlainRun | None:
        """Takes consecutive records that have only a value, as those of most receives; None if
        one of them does not."""
        if as_run(offsets) is None or (self._kept and not self._kept.keys().isdisjoint(offsets)):
            return None
        first = offsets[0]
        run = PlainRun(first, [], [])
        while missing := len(offsets) - len(run.values):
            at = first + len(run.values)
            if not self._is_ahead(at):
                self._read(at)
                if not self._is_ahead(at):
                    self._keep(run.records(), first)
                    return None
            self._pass_over(at)
            run.values.extend(self._ahead[:missing])
            run.timestamps.extend(self._ahead_times[:missing])
            self._drop_ahead(missing)
        return run

    def take_each(self, offsets: Sequence[int]) -> list[Record | None]:
        """Takes several records, like `take`; consecutive ones many at once."""
        records: list[Record | None] = []
        while len(records) < len(offsets):
            place = len(records)
            offset = offsets[place]
            if offset in self._kept:
                records.append(self._take_kept(offset))
                continue
            if not self._is_ahead(offset):
                self._read(offset)
                if not self._is_ahead(offset):
                    records.append(self._take_kept(offset))
                    continue
            self._pass_over(offset)
            count = min(len(self._ahead), len(offsets) - place)
            if as_run(offsets[place : place + count]) is None:
                count = 1
            records += self._records_ahead(count)
            self._drop_ahead(count)
        return records

    def look(self, offset: int) -> Record | None:
        """Reads a record like `take`, but leaves it for whoever takes it later."""
        if not self._is_ahead(offset) and offset not in self._kept:
            self._read(offset)
        if self._is_ahead(offset):
            place = offset - self._ahead_offset
            return Record(None, self._ahead[place], (), self._ahead_times[place], offset)
        return self._kept.get(offset)

    def forget(self) -> None:
        """Frees the memory of prefetched and kept records; called by upkeep."""
        self._drop_ahead(len(self._ahead))
        self._kept.clear()
        self._kept_bytes = 0

    def _is_ahead(self, offset: int) -> bool:
        return 0 <= offset - self._ahead_offset < len(self._ahead)

    def _take_kept(self, offset: int) -> Record | None:
        record = self._kept.pop(offset, None)
        if record is not None:
            self._kept_bytes -= len(record.value or b"")
        return record

    def _pass_over(self, offset: int) -> None:
        """Moves prefetched records before the offset to the kept ones, to be taken later."""
        count = offset - self._ahead_offset
        if count:
            passed = self._records_ahead(count)
            self._drop_ahead(count)
            self._keep(passed, offset)

    def _records_ahead(self, count: int) -> list[Record]:
        """Builds the next `count` prefetched records, without dropping them."""
        values, timestamps = self._ahead[:count], self._ahead_times[:count]
        return PlainRun(self._ahead_offset, values, timestamps).records()

    def _drop_ahead(self, count: int) -> None:
        count = min(count, len(self._ahead))
        del self._ahead[:count]
        del self._ahead_times[:count]
        self._ahead_offset += count

    def _read(self, offset: int) -> None:
        partition = self._partition
        bytes_max = BLOCK_BYTES if offset == self._next_offset else _ONE_BATCH
        self._pass_over(self._ahead_offset + len(self._ahead))
        try:
            found = partition.read(offset, bytes_max)
            if found is None:
                return
            self._next_offset = found.next_offset
            for header, batch in iter_batches(partition.load(found)):
                if header.next_offset <= offset:
                    continue
                if not is_intact(batch):
                    raise CorruptBatch(f"the checksum of the batch at {header[0]} is wrong")
                values = plain_values(header, batch)
                if values is not None and self._go_on(header, values, offset):
                    continue
                records: Iterable[Record] = records_of(
                    header, batch, decompressed_bytes_max=STORED_BATCH_OPENED_BYTES_MAX
                )
                if header.base_offset < offset:
                    records = (each for each in records if (each[4] or 0) >= offset)
                if not self._keep(records, offset):
                    return
        except OffsetOutOfRange:
            return
        except CorruptBatch as error:
            is_found = self._is_ahead(offset) or offset in self._kept
            if not is_found and offset != self._damaged_offset:
                self._damaged_offset = offset
                self.on_damage(offset)
                log.error(
                    "a message is damaged and cannot be delivered",
                    topic=partition.topic.name,
                    partition=partition.index,
                    offset=offset,
                    error=str(error),
                )

    def _go_on(self, header: BatchHeader, values: list[bytes], wanted: int) -> bool:
        """Appends a batch's values, from the offset on, to the prefetched ones; False if they do
        not follow these."""
        passed = max(wanted - header.base_offset, 0)
        offset = header.base_offset + passed
        if not self._ahead:
            self._ahead_offset = offset
        elif offset != self._ahead_offset + len(self._ahead):
            return False
        timestamp = header.max_timestamp if header.uses_log_append_time else header.base_timestamp
        self._ahead += values[passed:] if passed else values
        self._ahead_times += [timestamp] * (len(values) - passed)
        return True

    def _keep(self, records: Iterable[Record], wanted: int) -> bool:
        """Keeps records for later; False if there is no room for all of them."""
        kept = self._kept
        for record in records:
            _, value, _, _, at = record
            assert at is not None
            if at in kept:
                continue
            kept[at] = record
            self._kept_bytes += len(value or b"")
            is_full = self._kept_bytes > KEPT_BYTES_MAX or len(kept) > KEPT_RECORDS_MAX
            if is_full and not self._make_room(wanted):
                self._next_offset = at
                return False
        return True

    def _make_room(self, wanted: int) -> bool:
        """Drops the oldest kept records; False if that would drop the wanted one: then the newest
        is dropped instead."""
        kept = self._kept
        while len(kept) > 1 and (self._kept_bytes > KEPT_BYTES_MAX or len(kept) > KEPT_RECORDS_MAX):
            oldest, dropped = kept.popitem(last=False)
            if oldest == wanted:
                kept[oldest] = dropped
                kept.move_to_end(oldest, last=False)
                _, dropped = kept.popitem()
                self._kept_bytes -= len(dropped.value or b"")
                return False
            self._kept_bytes -= len(dropped.value or b"")
        return True
