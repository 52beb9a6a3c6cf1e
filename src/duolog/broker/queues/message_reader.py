"""Reads the records that a queue hands out.

Consumers of a standard queue take messages in the order of the log, so a read that goes on
where the last one ended fetches a block of them. A FIFO queue jumps from message to message of
a group, and its other groups want those in between: what was read besides is kept for a while.
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
"""Of values that were read and not taken: ten messages ahead of each of a hundred groups."""
KEPT_RECORDS_MAX = 4_096
"""A small compressed batch can hold millions."""
_ONE_BATCH = 1
"""Fewer bytes than any batch has: the first one is always read whole."""

_to_record: Callable[[tuple[object, ...]], Record] = partial(tuple.__new__, Record)

log = get_logger("queues")


class PlainRun(NamedTuple):
    """Records one behind the other that have a value and nothing else."""

    first_offset: int
    values: list[bytes]
    timestamps: list[int]

    @property
    def offsets(self) -> range:
        return range(self.first_offset, self.first_offset + len(self.values))

    def records(self) -> list[Record]:
        # As Record does it, in a quarter of the time.
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
        """Values of records one behind the other that have nothing else, were read and are likely
        to be wanted next: no more than a block has, or a batch."""
        self._ahead_times: list[int] = []
        """Their timestamps."""
        self._ahead_offset = 0
        """Of the first of them."""
        self._kept: OrderedDict[int, Record] = OrderedDict()
        """Others that were read and not taken; oldest first."""
        self._kept_bytes = 0
        self._next_offset = 0
        """Where the last read ended."""
        self._damaged_offset = -1
        """What was reported last."""
        self.on_damage: OnDamage = pass_over

    def take(self, offset: int) -> Record | None:
        """The record; None when it is gone: expired, deleted by its key, or damaged.

        StorageFailed when the disk cannot be read, or another node has what is damaged here.
        """
        return self.take_each((offset,))[0]

    def take_plain(self, offsets: Sequence[int]) -> PlainRun | None:
        """As `take_each`, of messages that lie one behind the other and have only a value, as
        those of most receives do; None if one of them is another."""
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
        """As `take`, of several: of those that lie one behind the other many at once."""
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
        """As `take`, for somebody who will not be the last to want it."""
        if not self._is_ahead(offset) and offset not in self._kept:
            self._read(offset)
        if self._is_ahead(offset):
            place = offset - self._ahead_offset
            return Record(None, self._ahead[place], (), self._ahead_times[place], offset)
        return self._kept.get(offset)

    def forget(self) -> None:
        """Give back the memory of a queue that is not read."""
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
        """Whoever wants what is before it comes later."""
        count = offset - self._ahead_offset
        if count:
            passed = self._records_ahead(count)
            self._drop_ahead(count)
            self._keep(passed, offset)

    def _records_ahead(self, count: int) -> list[Record]:
        """The next so many, without taking them away."""
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
        """Put what a batch has from the offset on behind what is ahead; False if it is not there
        that it belongs."""
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
        """False when there is no room for all of them."""
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
        """False when there is no room beside what is wanted for what was just read."""
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
