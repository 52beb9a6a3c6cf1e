"""Tells when a message group of a standard queue takes more than its share of the consumers.

A group is noisy when it has too much of what is in flight, or took too much of the recent
processing time. It stays so until none of its messages wait, or nobody has sent any for a
while: a group that fell below the line only because it was held back would soon cross it again.
"""

from duolog.core.queues.lanes import Lane

IN_FLIGHT_MIN = 30
SHARE_PERCENT = 10
QUIET_AFTER_MS = 300_000
"""Without a message sent for so long a group is not noisy."""
PROCESSING_HALF_LIFE_MS = 60_000
"""Processing time counts half after so long."""


class FairLane(Lane):
    """A group of a standard queue: its fresh messages, and what it costs the consumers."""

    __slots__ = ("is_noisy", "processing", "returned", "sent_ms")

    def __init__(self, group: bytes) -> None:
        super().__init__(group)
        self.returned = 0
        """How many of its messages are visible again."""
        self.sent_ms = 0
        """When the newest message was sent."""
        self.is_noisy = False
        self.processing = ProcessingTime()

    @property
    def is_idle(self) -> bool:
        return not self.returned and super().is_idle

    @property
    def has_backlog(self) -> bool:
        return self.returned > 0 or len(self) > 0


class ProcessingTime:
    """Milliseconds for which messages were in flight; the older, the less they count."""

    __slots__ = ("_at_ms", "_spent_ms")

    def __init__(self) -> None:
        self._spent_ms = 0.0
        self._at_ms = 0

    def add(self, spent_ms: int, now_ms: int) -> None:
        self._spent_ms = self.recent_ms(now_ms) + spent_ms
        self._at_ms = now_ms

    def recent_ms(self, now_ms: int) -> float:
        if not self._spent_ms:
            return 0.0
        age = (now_ms - self._at_ms) / PROCESSING_HALF_LIFE_MS
        return float(self._spent_ms * 0.5**age)


class Noise:
    """The noisy groups of a queue."""

    __slots__ = ("_check_ms", "_noisy", "_processing", "in_flight")

    def __init__(self, in_flight: int) -> None:
        self.in_flight = in_flight
        """Of all messages of the queue, also those without a group."""
        self._processing = ProcessingTime()
        self._noisy: dict[bytes, FairLane] = {}
        self._check_ms = 0
        """Before then no group is quiet only because nothing was sent."""

    def __bool__(self) -> bool:
        return bool(self._noisy)

    def delivered(self, lane: FairLane, now_ms: int) -> None:
        """One more message of the lane is in flight, and counted."""
        if (
            lane.in_flight >= IN_FLIGHT_MIN
            and lane.in_flight * 100 > self.in_flight * SHARE_PERCENT
        ):
            self._mark(lane, now_ms)

    def processed(self, lane: FairLane | None, spent_ms: int, now_ms: int) -> None:
        """A message was in flight for so long; it may have been one without a group."""
        self._processing.add(spent_ms, now_ms)
        if lane is None:
            return
        lane.processing.add(spent_ms, now_ms)
        share = lane.processing.recent_ms(now_ms) * 100
        if share > self._processing.recent_ms(now_ms) * SHARE_PERCENT:
            self._mark(lane, now_ms)

    def clear(self, lane: FairLane) -> None:
        lane.is_noisy = False
        self._noisy.pop(lane.group, None)

    def pop_silent(self, now_ms: int) -> list[FairLane]:
        """Clears the groups to which nothing was sent for long, and says which they were."""
        if not self._noisy or now_ms < self._check_ms:
            return []
        silent = [lane for lane in self._noisy.values() if self._is_silent(lane, now_ms)]
        for lane in silent:
            self.clear(lane)
        if self._noisy:
            self._check_ms = QUIET_AFTER_MS + min(lane.sent_ms for lane in self._noisy.values())
        return silent

    def _mark(self, lane: FairLane, now_ms: int) -> None:
        if lane.is_noisy or not lane.has_backlog or self._is_silent(lane, now_ms):
            return
        lane.is_noisy = True
        self._noisy[lane.group] = lane
        self._check_ms = min(self._check_ms, lane.sent_ms + QUIET_AFTER_MS)

    def _is_silent(self, lane: FairLane, now_ms: int) -> bool:
        return now_ms >= lane.sent_ms + QUIET_AFTER_MS
