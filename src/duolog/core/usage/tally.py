"""Counts the usage of one key: a few additions in place, on the path of every request.

A tally is made once and kept by what it counts: a queue, a topic, a door. Its slot is found on
first use in an interval, and given up with the interval. Produced records are not even added: see
partition_tally.py.
"""

from array import array
from typing import Protocol

from duolog.core.usage.keys import UsageKey
from duolog.core.usage.slots import BYTE_SECONDS, BYTES, ERRORS, MESSAGES, WORDS, Place


class Places(Protocol):
    """Source of slots for tallies (broker/usage/meter.py)."""

    def attach(self, tally: "Tally") -> Place: ...


class Tally:
    __slots__ = ("_places", "at", "cells", "key")

    def __init__(self, places: Places, key: UsageKey) -> None:
        self._places = places
        self.key = key
        self.cells: memoryview | None = None
        """Counters; None until first use in this interval."""
        self.at = 0

    def detach(self) -> None:
        self.cells = None

    def _attach(self) -> memoryview:
        cells, self.at = self._places.attach(self)
        self.cells = cells
        return cells

    def count(self, messages: int, size: int, requests: int = 1) -> None:
        """Counts requests that moved so many messages, of so many bytes together."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        at = self.at
        cells[at] += requests
        if messages:
            cells[at + MESSAGES] += messages
            cells[at + BYTES] += size

    def fail(self, errors: int = 1, *, requests: int = 1) -> None:
        """Counts error answers; `requests` are those not counted yet."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        cells[self.at] += requests
        cells[self.at + ERRORS] += errors

    def add_messages(self, messages: int) -> None:
        """Counts messages that were moved without a request."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        cells[self.at + MESSAGES] += messages

    def store(self, size: int, byte_seconds: int) -> None:
        """Counts stored bytes: how many there are now, and byte-seconds since the last time."""
        cells = self.cells
        if cells is None:
            cells = self._attach()
        cells[self.at + BYTES] += size
        cells[self.at + BYTE_SECONDS] += byte_seconds


SCRATCH: Place = (memoryview(array("q", bytes(8 * WORDS))), 0)
"""Slot whose counts are thrown away."""


class Nowhere:
    """Source of slots for what is not metered."""

    def attach(self, tally: Tally) -> Place:
        return SCRATCH


UNMETERED_KEY = UsageKey("", "", "", "")
UNMETERED = Tally(Nowhere(), UNMETERED_KEY)
"""Tally of the system's own resources, and of all when metering is off."""
