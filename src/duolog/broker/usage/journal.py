"""A node's durable state of metering: the intervals sent to the usage topic, and their totals.

One data directory has one journal. It is written as a whole after each sent interval, and only
then is the interval's file removed: whatever a crash leaves is either still to be sent, or known
to be sent.
"""

from collections import deque
from functools import partial

import msgspec

from duolog.broker.usage.meter import file_name, sequence_of
from duolog.core.usage.keys import Counts, UsageKey
from duolog.core.usage.periods import due_ms
from duolog.core.usage.sheets import SEQUENCE_MASK, sheet_count
from duolog.core.usage.slots import Interval, Mark, PartitionName, read_interval
from duolog.core.usage.totals import Totals
from duolog.log.checked_file import read_checked, write_checked
from duolog.observe.logs import get_logger
from duolog.ports.counters import CounterFile, CounterFiles
from duolog.ports.disk import Disk

DIRECTORY = "usage"
JOURNAL_FILE = f"{DIRECTORY}/journal"

WAITING_MAX = 64
"""Unsent intervals above which each further one lasts until the full hour."""

NO_PRODUCER = -1
NO_PARTITION = -1

log = get_logger("usage")


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    journal: str
    next_sequence: int = 0
    """First interval not known to be in the usage topic."""
    partition: int = NO_PARTITION
    """Partition of the usage topic; never changed, since duplicates are detected per partition."""
    producer_id: int = NO_PRODUCER
    next_producer_sequence: int = 0
    totals: list[tuple[UsageKey, Counts]] = []


class UsageJournal:
    def __init__(self, files: CounterFiles, disk: Disk, remembered: Remembered) -> None:
        self._files = files
        self._disk = disk
        self.remembered = remembered
        self.totals = Totals(remembered.totals)
        """Totals of all intervals in the usage topic."""
        self.waiting: deque[int] = deque()
        """Sequences of closed intervals to be sent, in order."""
        self._unsynced: dict[int, CounterFile] = {}
        self.marks: dict[PartitionName, Mark] = {}
        """Offsets up to which the last process had counted each partition."""
        self.stored_ms = 0
        """Time up to which the last process had counted storage; 0 if unknown."""

    @property
    def next_sequence(self) -> int:
        """Sequence of the next interval to begin."""
        return self.waiting[-1] + 1 if self.waiting else self.remembered.next_sequence

    @property
    def sent_sequence(self) -> int:
        """Sequence of the last sent interval; -1 if none was sent."""
        return self.remembered.next_sequence - 1

    def take_over(self) -> None:
        """Takes over the interval files that the last process left. Raises OSError."""
        for name in self._files.names():
            sequence = sequence_of(name)
            interval = read_interval(self._files.read(name))
            if interval is not None:
                self.marks |= interval.marks
                self.stored_ms = max(self.stored_ms, interval.stored_ms)
            if sequence < self.remembered.next_sequence or interval is None or not interval.counts:
                self._files.remove(name)
            else:
                self.waiting.append(sequence)

    def closed(self, sequence: int, file: CounterFile) -> None:
        self.waiting.append(sequence)
        self._unsynced[sequence] = file

    @property
    def may_cut(self) -> bool:
        return len(self.waiting) < WAITING_MAX

    async def read(self, sequence: int, interval_ms: int) -> Interval:
        """Reads a closed interval after syncing it: sent counts must not be counted again after a
        power cut. Raises OSError."""
        file = self._unsynced.pop(sequence, None)
        if file is not None:
            await self._disk.offload(file.sync)
        data = await self._disk.offload(partial(self._files.read, file_name(sequence)))
        interval = read_interval(data)
        if interval is None:
            log.error("usage interval damaged", sequence=sequence)
            interval = Interval(sequence, 0, 0, 0, [], {})
        interval = interval._replace(sequence=sequence)
        if not interval.to_ms:
            # Its process was killed, at the latest when the interval would have ended.
            interval = interval._replace(to_ms=due_ms(interval.from_ms, interval_ms))
        return interval

    async def choose(self, partition: int, producer_id: int) -> None:
        """Stores the partition and producer id to write with from now on. Raises OSError."""
        chosen = msgspec.structs.replace(
            self.remembered, partition=partition, producer_id=producer_id, next_producer_sequence=0
        )
        await self._write(chosen)

    async def sent(self, interval: Interval) -> None:
        """Notes that the interval is in the usage topic. Raises OSError: call it again then."""
        totals = self.totals.copy()
        totals.add(interval.counts)
        after = self.remembered.next_producer_sequence + sheet_count(interval)
        await self._write(
            msgspec.structs.replace(
                self.remembered,
                next_sequence=interval.sequence + 1,
                next_producer_sequence=after & SEQUENCE_MASK,
                totals=list(totals),
            )
        )
        self.totals = totals
        assert self.waiting[0] == interval.sequence
        self.waiting.popleft()
        await self._disk.offload(partial(self._files.remove, file_name(interval.sequence)))

    async def _write(self, remembered: Remembered) -> None:
        body = msgspec.json.encode(remembered)
        await self._disk.offload(partial(write_checked, self._disk, JOURNAL_FILE, body))
        self.remembered = remembered


def open_journal(files: CounterFiles, disk: Disk, new_journal: str) -> UsageJournal:
    """Opens or creates the data directory's journal. Raises OSError."""
    disk.make_directory(DIRECTORY)
    body = read_checked(disk, JOURNAL_FILE)
    if body is None:
        remembered = Remembered(journal=new_journal)
        _renumber(files)
        write_checked(disk, JOURNAL_FILE, msgspec.json.encode(remembered))
    else:
        remembered = msgspec.json.decode(body, type=Remembered)
    journal = UsageJournal(files, disk, remembered)
    journal.take_over()
    return journal


def _renumber(files: CounterFiles) -> None:
    """Gives the intervals of a lost journal to its successor, as its first ones."""
    for number, name in enumerate(files.names()):
        log.error("usage interval of a lost journal taken over by a new one", file=name)
        files.rename(name, file_name(number))
