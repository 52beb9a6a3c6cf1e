"""Detects message groups that take more than their share of a standard queue's consumers.

A group is noisy if it has too much of what is in flight, or used too much of the recent processing
time. It stays so until none of its messages wait, or nobody has sent any for a while: a group that
fell below the line only because it was held back would soon cross it again.
"""

from array import array
from collections.abc import Iterable
from itertools import islice

from duolog.core.queues.lanes import Lane
from duolog.records.delivery_image import Image, from_column, to_column

IN_FLIGHT_MIN = 30
SHARE_PERCENT = 10
QUIET_AFTER_MS = 300_000
"""Time without a new message after which a group is no longer noisy."""
PROCESSING_WINDOW_MS = 60_000
"""Length of a window: processing time is recent during its own window and the next one."""
PROCESSING_MIN_MS = 30_000
"""Processing time of all groups in the window before, below which shares mean little: the consumers
were not crowded, or have only begun."""


class ProcessingTime:
    """Recent milliseconds in flight, summed over messages."""

    __slots__ = ("_at_ms", "_window", "_within_ms", "before_ms")

    def __init__(self) -> None:
        self._at_ms = 0
        self._window = 0
        self._within_ms = 0
        """Time spent in the window of `_at_ms`."""
        self.before_ms = 0
        """Time spent in the window before that one."""

    def spend(self, in_flight: int, now_ms: int) -> int:
        """Adds the time since the last call for so many messages; returns the recent total."""
        elapsed_ms = now_ms - self._at_ms
        if elapsed_ms > 0:
            window = now_ms // PROCESSING_WINDOW_MS
            if window != self._window:
                self.before_ms = self._within_ms if window == self._window + 1 else 0
                self._within_ms = 0
                self._window = window
            self._within_ms += in_flight * elapsed_ms
            self._at_ms = now_ms
        return self._within_ms + self.before_ms

    def to_numbers(self) -> tuple[int, int, int]:
        return self._at_ms, self._within_ms, self.before_ms

    def load(self, at_ms: int, within_ms: int, before_ms: int) -> None:
        """Restores what `to_numbers` returned."""
        self._at_ms, self._within_ms, self.before_ms = at_ms, within_ms, before_ms
        self._window = at_ms // PROCESSING_WINDOW_MS


class FairLane(Lane):
    """Group of a standard queue: its fresh messages, and its share of the consumers."""

    __slots__ = ("is_noisy", "processing", "returned", "sent_ms")

    def __init__(self, group: bytes) -> None:
        super().__init__(group)
        self.returned = 0
        """Number of the group's messages that are visible again."""
        self.sent_ms = 0
        """Time at which the newest message was sent."""
        self.is_noisy = False
        self.processing = ProcessingTime()

    @property
    def is_idle(self) -> bool:
        return not self.returned and super().is_idle

    @property
    def has_backlog(self) -> bool:
        return self.returned > 0 or len(self) > 0


class Noise:
    """Noisy groups of a queue."""

    __slots__ = ("_check_ms", "_in_flight", "_noisy", "_processing")

    def __init__(self, in_flight: int) -> None:
        self._in_flight = in_flight
        """All messages of the queue in flight, those without a group included."""
        self._processing = ProcessingTime()
        self._noisy: dict[bytes, FairLane] = {}
        self._check_ms = 0
        """Time before which no group can have been silent for long enough."""

    def __bool__(self) -> bool:
        return bool(self._noisy)

    def count(self, lane: FairLane | None, change: int, now_ms: int) -> None:
        """Counts one message more or less in flight, of a lane or without a group."""
        spent_by_all_ms = self._processing.spend(self._in_flight, now_ms)
        self._in_flight += change
        if lane is None:
            return
        spent_by_lane_ms = lane.processing.spend(lane.in_flight, now_ms)
        lane.in_flight += change
        if lane.is_noisy:
            return
        if (
            lane.in_flight >= IN_FLIGHT_MIN
            and lane.in_flight * 100 > self._in_flight * SHARE_PERCENT
        ) or (
            self._processing.before_ms >= PROCESSING_MIN_MS
            and spent_by_lane_ms * 100 > spent_by_all_ms * SHARE_PERCENT
        ):
            self._mark(lane, now_ms)

    def _mark(self, lane: FairLane, now_ms: int) -> None:
        if not lane.has_backlog or self._is_silent(lane, now_ms):
            return
        lane.is_noisy = True
        self._noisy[lane.group] = lane
        self._check_ms = min(self._check_ms, lane.sent_ms + QUIET_AFTER_MS)

    def clear(self, lane: FairLane) -> None:
        lane.is_noisy = False
        self._noisy.pop(lane.group, None)

    def pop_silent(self, now_ms: int) -> list[FairLane]:
        """Clears and returns the groups to which nothing was sent for QUIET_AFTER_MS."""
        if not self._noisy or now_ms < self._check_ms:
            return []
        silent = [lane for lane in self._noisy.values() if self._is_silent(lane, now_ms)]
        for lane in silent:
            self.clear(lane)
        if self._noisy:
            self._check_ms = QUIET_AFTER_MS + min(lane.sent_ms for lane in self._noisy.values())
        return silent

    def save(self, image: Image, lanes: Iterable[FairLane]) -> None:
        numbers = array("q", self._processing.to_numbers())
        for lane in lanes:
            numbers.extend((lane.is_noisy, lane.sent_ms, *lane.processing.to_numbers()))
        image.fairness = to_column(numbers)

    def load(self, image: Image, lanes: Iterable[FairLane]) -> None:
        numbers = iter(from_column(image.fairness))
        self._processing.load(*islice(numbers, 3))
        for lane in lanes:
            is_noisy, lane.sent_ms, *processing = islice(numbers, 5)
            lane.processing.load(*processing)
            if is_noisy:
                lane.is_noisy = True
                self._noisy[lane.group] = lane

    def _is_silent(self, lane: FairLane, now_ms: int) -> bool:
        return now_ms >= lane.sent_ms + QUIET_AFTER_MS
