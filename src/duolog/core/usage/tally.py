"""Counts what one key uses: a few additions in place, on the path of every request.

A tally is made once and kept by whatever is counted: a partition, a queue, a door. Its place in
the counters is found when it is first used in an interval, and given up with the interval.
"""

from array import array
from typing import Protocol

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.slots import BYTE_SECONDS, BYTES, ERRORS, MESSAGES, Place


class Places(Protocol):
    """Where tallies find their places (broker/usage/meter.py)."""

    def attach(self, tally: "Tally") -> Place: ...

    def attach_mark(self, tally: "PartitionTally", end_offset: int) -> Place: ...


class Tally:
    __slots__ = ("_places", "at", "cells", "key")

    def __init__(self, places: Places, key: UsageKey) -> None:
        self._places = places
        self.key = key
        self.cells: memoryview | None = None
        """The counters; None until it is used in this interval."""
        self.at = 0

    def detach(self) -> None:
        self.cells = None

    def _attach(self) -> memoryview:
        cells, self.at = self._places.attach(self)
        self.cells = cells
        return cells

    def count(self, messages: int, size: int) -> None:
        """A request that moved so many messages, of so many bytes together."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        at = self.at
        cells[at] += 1
        if messages:
            cells[at + MESSAGES] += messages
            cells[at + BYTES] += size

    def fail(self, errors: int = 1, *, requests: int = 1) -> None:
        """So many errors were answered to so many requests that are not counted yet."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        cells[self.at] += requests
        cells[self.at + ERRORS] += errors

    def add_messages(self, messages: int) -> None:
        """Of which nobody asked for anything."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        cells[self.at + MESSAGES] += messages

    def store(self, size: int, byte_seconds: int) -> None:
        """So much is stored now, and was for that long."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        cells[self.at + BYTES] += size
        cells[self.at + BYTE_SECONDS] += byte_seconds


class PartitionTally(Tally):
    """What is produced to one partition. It is counted with the other partitions of the topic,
    but how far it is counted is noted for each, together with the count: what a process that
    is killed has written and not counted can be told by that."""

    __slots__ = ("_mark_at", "_marks", "index", "topic_id")

    def __init__(self, places: Places, key: UsageKey, topic_id: bytes, index: int) -> None:
        super().__init__(places, key)
        self.topic_id = topic_id
        self.index = index
        self._marks: memoryview = _SCRATCH
        self._mark_at = 0

    def expect(self, end_offset: int) -> None:
        """Before anything is written behind that offset."""
        if self.cells is None:
            self._marks, self._mark_at = self._places.attach_mark(self, end_offset)
            self._attach()

    def appended(self, batches: int, messages: int, size: int, end_offset: int) -> None:
        """They are in the log, which `expect` was told of."""
        cells = self.cells
        assert cells is not None
        at = self.at
        cells[at] += batches
        cells[at + MESSAGES] += messages
        cells[at + BYTES] += size
        self._marks[self._mark_at] = end_offset


_SCRATCH = memoryview(array("q", bytes(8 * 8)))
SCRATCH: Place = (_SCRATCH, 0)
"""Counted here, it counts for nothing."""


class Nowhere:
    """The places of what is not metered."""

    def attach(self, tally: Tally) -> Place:
        return SCRATCH

    def attach_mark(self, tally: PartitionTally, end_offset: int) -> Place:
        return SCRATCH


NOWHERE = Nowhere()
UNMETERED_KEY = UsageKey("", "", "", "")
UNMETERED = PartitionTally(NOWHERE, UNMETERED_KEY, b"", 0)
"""For what belongs to the system itself, and where metering is off."""
