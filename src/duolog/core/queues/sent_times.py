"""Approximate times of sending of a partition's messages: one pair of numbers a second.

Precise to the second, and coarser for old messages once there are too many pairs. It errs towards
younger messages, so that none expires too early.
"""

from array import array
from bisect import bisect_left, bisect_right

from duolog.records.delivery_image import Image, from_column, is_ascending, to_column

SENT_TIMES_MAX = 65_536
"""Limit of remembered seconds, which then take one megabyte."""


class SentTimes:
    __slots__ = ("_offsets", "_seconds", "last_second")

    def __init__(self) -> None:
        self._offsets = array("q")
        """First offset of each stretch of messages."""
        self._seconds = array("q")
        """Second in which the youngest of the stretch was sent; strictly ascending."""
        self.last_second = -1

    def __len__(self) -> int:
        return len(self._offsets)

    def note(self, first_offset: int, second: int) -> None:
        """Begins a stretch: messages from this offset on were sent in a later second than all
        before."""
        self._offsets.append(first_offset)
        self._seconds.append(second)
        self.last_second = second
        if len(self._offsets) > SENT_TIMES_MAX:
            self._thin_out()

    def sent_ms(self, offset: int) -> int | None:
        """Approximate time of sending of the message at this offset; None if unknown."""
        at = bisect_right(self._offsets, offset) - 1
        return self._seconds[at] * 1000 if at >= 0 else None

    def expired_before(self, cutoff_ms: int, end_offset: int) -> int:
        """Offset below which every message was sent at or before the cutoff."""
        # A message of second s may have been sent in its last millisecond.
        at = bisect_right(self._seconds, (cutoff_ms + 1) // 1000 - 1)
        if at == len(self._offsets):
            return end_offset if at else 0
        return self._offsets[at]

    def offset_at(self, timestamp_ms: int, end_offset: int) -> int:
        """The first offset that may have been sent at or after that time."""
        at = bisect_left(self._seconds, timestamp_ms // 1000)
        return self._offsets[at] if at < len(self._offsets) else end_offset

    def forget_before(self, offset: int) -> None:
        """Drops stretches that lie wholly below this offset."""
        stretch = bisect_right(self._offsets, offset) - 1
        if stretch > 0:
            del self._offsets[:stretch], self._seconds[:stretch]

    def truncate(self, end_offset: int) -> None:
        kept = bisect_left(self._offsets, end_offset)
        del self._offsets[kept:], self._seconds[kept:]
        self.last_second = self._seconds[-1] if self._seconds else -1

    def save(self, image: Image) -> None:
        image.sent_offsets = to_column(self._offsets)
        image.sent_seconds = to_column(self._seconds)

    def load(self, image: Image) -> None:
        """Restores from a snapshot; raises ValueError if it contradicts itself."""
        offsets, seconds = from_column(image.sent_offsets), from_column(image.sent_seconds)
        if len(offsets) != len(seconds) or not (is_ascending(offsets) and is_ascending(seconds)):
            raise ValueError("sent times that are not ascending side by side")
        self._offsets, self._seconds = offsets, seconds
        self.last_second = seconds[-1] if seconds else -1

    def _thin_out(self) -> None:
        """Merges pairs of stretches in the older half, each as old as the younger of the two."""
        half = len(self._offsets) // 2 & ~1
        self._offsets = self._offsets[0:half:2] + self._offsets[half:]
        self._seconds = self._seconds[1:half:2] + self._seconds[half:]
