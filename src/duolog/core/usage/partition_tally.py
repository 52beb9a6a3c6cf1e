"""Counts what Kafka clients produce to a partition, at no cost to their requests.

The log itself tells what was appended: batches, records and bytes since a mark that lies beside the
counters. While the process lives the partition knows these sums, and they are added when an
interval ends; after a kill they are read from the log past the mark (broker/usage/uncounted.py). So
a batch that is written but not answered is neither missed nor, when its producer repeats it,
counted twice.
"""

from typing import Protocol

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.slots import (
    BYTES,
    EPOCH,
    ERRORS,
    MARK,
    MESSAGES,
    PARTITION_WORDS,
    WORD_BYTES,
    Mark,
    Place,
)
from duolog.core.usage.tally import SCRATCH, UNMETERED_KEY

NO_EPOCH = -1
"""Epoch in the mark of a partition that another node leads: nothing past it is counted here."""


class Appended(Protocol):
    """Counters and offsets that a partition keeps of itself."""

    @property
    def batches_in(self) -> int: ...

    @property
    def bytes_in(self) -> int: ...

    @property
    def end_offset(self) -> int: ...

    @property
    def leader_epoch(self) -> int: ...

    @property
    def leads(self) -> bool:
        """True if clients append, rather than replication from another leader."""
        ...


class PartitionPlaces(Protocol):
    def attach_partition(
        self, tally: "PartitionTally", end_offset: int, leader_epoch: int
    ) -> tuple[Place, bool]:
        """The partition's place; True if it is its own, with a mark at the offset."""
        ...


class PartitionTally:
    __slots__ = (
        "_batches",
        "_bytes",
        "_end_offset",
        "_leads",
        "_place",
        "_places",
        "_source",
        "cells",
        "index",
        "is_used",
        "key",
        "topic_id",
    )

    def __init__(
        self,
        places: PartitionPlaces,
        key: UsageKey,
        topic_id: bytes,
        index: int,
        source: Appended,
    ) -> None:
        self._places = places
        self.key = key
        self.topic_id = topic_id
        self.index = index
        self._source = source
        self.cells: memoryview | None = None
        """Counters with a mark; None if `expect` has to be called before the next append."""
        self._place: Place = SCRATCH
        self.is_used = False
        """True if it has a place in this interval."""
        self._leads = False
        """True if appends in this place are counted; else only errors are."""
        self._batches = self._bytes = self._end_offset = 0
        """Batches, bytes and end offset up to which the partition is counted."""

    def expect(self) -> None:
        """Prepares for an append that is to be counted."""
        if self.is_used:
            # Without a mark of its own, each append is counted before the next one.
            self.fold()
            return
        source = self._source
        self._leads = source.leads
        leader_epoch = source.leader_epoch if self._leads else NO_EPOCH
        self._take_place(source.end_offset, leader_epoch)

    def _take_place(self, offset: int, leader_epoch: int) -> None:
        self._place, is_marked = self._places.attach_partition(self, offset, leader_epoch)
        self.cells = self._place[0] if is_marked else None
        self.is_used = True
        self._rebase()

    def _rebase(self) -> None:
        source = self._source
        self._batches, self._bytes = source.batches_in, source.bytes_in
        self._end_offset = source.end_offset

    def fold(self) -> None:
        """Adds what was appended since the last call, and moves the mark in the same step."""
        if self.is_used and self._leads:
            source = self._source
            batches, size = source.batches_in - self._batches, source.bytes_in - self._bytes
            self._add(batches, source.end_offset - self._end_offset, size, source.end_offset)
            self._rebase()

    def _add(self, batches: int, messages: int, size: int, end_offset: int) -> None:
        words, at = self._place
        errors = words[at + ERRORS]
        requests, messages = words[at] + batches, words[at + MESSAGES] + messages
        size += words[at + BYTES]
        if self.cells is None:
            words[at], words[at + MESSAGES], words[at + BYTES] = requests, messages, size
        else:
            PARTITION_WORDS.pack_into(
                words, at * WORD_BYTES, requests, messages, size, 0, errors, end_offset
            )

    def recount(self, mark: Mark, batches: int, messages: int, size: int) -> None:
        """Counts what the last process appended past its mark and left uncounted."""
        assert not self.is_used
        # The old mark stays at first: if this process is killed here, the next one counts.
        self._take_place(*mark)
        self._add(batches, messages, size, self._source.end_offset)
        self.detach()

    def skip(self, next_offset: int, size: int) -> None:
        """Excludes a batch that is about to be appended through another door, which counts it."""
        self.fold()
        self._batches += 1
        self._bytes += size
        self._move_mark(next_offset)

    def unskip(self, size: int) -> None:
        """Reverts `skip`, because the batch was not appended."""
        self._batches -= 1
        self._bytes -= size
        self._move_mark(self._source.end_offset)

    def _move_mark(self, offset: int) -> None:
        self._end_offset = offset
        if self.cells is not None:
            self.cells[self._place[1] + MARK] = offset

    def discount(self, batches: int, size: int) -> None:
        """Excludes batches that counted as appended but could not be written."""
        self._batches += batches
        self._bytes += size

    def fail(self, *, requests: int = 1) -> None:
        """Counts an error answer; `requests` is 0 if the request is counted already."""
        if not self.is_used:
            self.expect()
        words, at = self._place
        words[at] += requests
        words[at + ERRORS] += 1

    def detach(self) -> None:
        """Gives up the place: the interval is over, or this node gains or loses the leadership."""
        self.fold()
        if self.cells is not None:
            # Other leaders' appends must not be taken for uncounted ones.
            self.cells[self._place[1] + EPOCH] = NO_EPOCH
        self.cells, self.is_used, self._leads = None, False, False


class _Nothing:
    batches_in = bytes_in = end_offset = leader_epoch = 0
    leads = False


class _Nowhere:
    def attach_partition(
        self, tally: PartitionTally, end_offset: int, leader_epoch: int
    ) -> tuple[Place, bool]:
        return SCRATCH, True


UNMETERED_PARTITION = PartitionTally(_Nowhere(), UNMETERED_KEY, b"", 0, _Nothing())
"""Tally of the system's own partitions, and of all when metering is off."""
