"""Waiting messages of a queue by message group: one lane for each group that has any."""

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify
from itertools import chain
from typing import Generic, TypeVar

from duolog.core.queues.held import Held
from duolog.core.queues.ranges import OffsetRanges
from duolog.records.delivery_image import Image, from_column, is_ascending, to_column

_SLOTS_KEPT = 64
"""Free slots kept at the front of a lane, so that returned messages go back cheaply."""
STALE_ENTRIES_MIN = 256
"""Number of stale entries below which a heap of first messages is not swept."""


class Lane:
    """Offsets of one group in ascending order, eight bytes each."""

    __slots__ = ("group", "head", "in_flight", "offsets")

    def __init__(self, group: bytes) -> None:
        self.group = group
        self.offsets = array("q")
        self.head = 0
        """Index in `offsets` of the first one that still waits."""
        self.in_flight = 0

    def __len__(self) -> int:
        return len(self.offsets) - self.head

    @property
    def first(self) -> int:
        return self.offsets[self.head]

    @property
    def is_idle(self) -> bool:
        """True if nothing of the group waits or is in flight, so that the lane can be dropped."""
        return not self.in_flight and self.head == len(self.offsets)

    def pop_first(self) -> None:
        self.head += 1
        if self.head == len(self.offsets):
            del self.offsets[:]
            self.head = 0
        elif self.head > 2 * _SLOTS_KEPT and 2 * self.head > len(self.offsets):
            del self.offsets[: self.head - _SLOTS_KEPT]
            self.head = _SLOTS_KEPT

    def insert(self, offset: int) -> None:
        """Puts an offset in its place."""
        at = bisect_left(self.offsets, offset, self.head)
        if at == self.head and self.head > 0:
            self.head -= 1
            self.offsets[self.head] = offset
        else:
            self.offsets.insert(at, offset)

    def insert_many(self, offsets: Iterable[int]) -> None:
        self.offsets = array("q", sorted(chain(self.offsets[self.head :], offsets)))
        self.head = 0

    def remove(self, offset: int) -> None:
        at = bisect_left(self.offsets, offset, self.head)
        if at == self.head:
            self.pop_first()
        else:
            del self.offsets[at]

    def drop_below(self, before_offset: int) -> None:
        del self.offsets[: bisect_left(self.offsets, before_offset, self.head)]
        self.head = 0

    def drop_from(self, end_offset: int) -> None:
        del self.offsets[bisect_left(self.offsets, end_offset, self.head) :]


LaneT = TypeVar("LaneT", bound=Lane)


class Lanes(ABC, Generic[LaneT]):
    """Lanes of a queue, with an index of their first messages; base of FIFO and fair queues."""

    __slots__ = ("_fresh", "_gone", "_heads", "_lanes")

    def __init__(self) -> None:
        self._lanes: dict[bytes, LaneT] = {}
        self._heads: dict[int, LaneT] = {}
        """First message of each lane that has any → the lane."""
        self._fresh = OffsetRanges()
        """All fresh messages in lanes, to find one without knowing its group."""
        self._gone: set[int] = set()
        """Done messages in the middle of some lane; skipped when they come first."""

    @abstractmethod
    def _make(self, group: bytes) -> LaneT:
        """Makes a lane for a group that has none."""

    @abstractmethod
    def _offer(self, lane: LaneT) -> None:
        """Enters a lane whose first message changed, or which was unlocked, into the order."""

    def save(self, image: Image) -> None:
        lengths, offsets = array("q"), array("q")
        image.lane_groups = sorted(self._lanes)
        for group in image.lane_groups:
            lane = self._lanes[group]
            waiting = lane.offsets[lane.head :]
            if self._gone:
                waiting = array("q", (offset for offset in waiting if offset not in self._gone))
            lengths.append(len(waiting))
            offsets.extend(waiting)
        image.lane_lengths = to_column(lengths)
        image.lane_offsets = to_column(offsets)

    def load(self, image: Image, held: Mapping[int, Held]) -> None:
        for each in held.values():
            if each.is_in_flight and each.group is not None:
                self._lane(each.group).in_flight += 1
        offsets = from_column(image.lane_offsets)
        at = 0
        for group, length in zip(image.lane_groups, from_column(image.lane_lengths), strict=True):
            lane = self._lane(group)
            lane.offsets = offsets[at : at + length]
            at += length
            if not is_ascending(lane.offsets):
                raise ValueError("a lane that is not in order")
            if len(lane):
                self._heads[lane.first] = lane
                self._offer(lane)

    def is_fresh(self, offset: int) -> bool:
        return offset in self._fresh

    def first_fresh(self) -> int | None:
        return self._fresh.first

    def fresh_pieces(self, from_offset: int) -> Iterator[tuple[int, int]]:
        return self._fresh.pieces(from_offset)

    def _lane(self, group: bytes) -> LaneT:
        lane = self._lanes.get(group)
        if lane is None:
            lane = self._lanes[group] = self._make(group)
        return lane

    def _append(self, lane: LaneT, offset: int) -> None:
        offsets = lane.offsets
        offsets.append(offset)
        if lane.head + 1 == len(offsets):
            self._heads[offset] = lane
            self._offer(lane)

    def _insert(self, lane: LaneT, offsets: Sequence[int]) -> None:
        """Puts messages in their places: one that returned, or many that are replayed."""
        former = lane.first if len(lane) else None
        # Messages that were marked gone are still in the lane, and wait again.
        absent = [offset for offset in offsets if offset not in self._gone]
        self._gone.difference_update(offsets)
        if len(absent) == 1:
            lane.insert(absent[0])
        else:
            lane.insert_many(absent)
        if lane.first != former:
            if former is not None:
                del self._heads[former]
            self._heads[lane.first] = lane
            self._offer(lane)

    def _remove(self, lane: LaneT, offset: int) -> None:
        """Removes a message that waits in the lane."""
        if lane.offsets[lane.head] == offset:
            del self._heads[offset]
            lane.pop_first()
            self._find_head(lane)
        else:
            lane.remove(offset)

    def _find_head(self, lane: LaneT) -> None:
        """Moves the head to the first message that is not done; drops the lane if there is none."""
        gone = self._gone
        while lane.head < len(lane.offsets):
            first = lane.offsets[lane.head]
            if not gone or first not in gone:
                self._heads[first] = lane
                self._offer(lane)
                return
            gone.remove(first)
            lane.pop_first()
        self._drop_if_idle(lane)

    def _drop_if_idle(self, lane: LaneT) -> None:
        if lane.is_idle:
            self._lanes.pop(lane.group, None)

    def _lane_of(self, offset: int) -> LaneT:
        """Finds the lane of a waiting message that is not the first of any, by searching them
        all."""
        for lane in self._lanes.values():
            at = bisect_left(lane.offsets, offset, lane.head)
            if at < len(lane.offsets) and lane.offsets[at] == offset:
                return lane
        raise AssertionError(f"{offset} waits in no lane")

    def discard(self, offset: int) -> bool:
        if not self._fresh.discard(offset):
            return False
        self._discard_from_lane(offset)
        return True

    def _discard_from_lane(self, offset: int) -> None:
        lane = self._heads.get(offset)
        if lane is None:
            self._gone.add(offset)
        else:
            self._remove(lane, offset)

    def trim(self, before_offset: int) -> int:
        self._gone = {offset for offset in self._gone if offset >= before_offset}
        for head, lane in [each for each in self._heads.items() if each[0] < before_offset]:
            del self._heads[head]
            lane.drop_below(before_offset)
            self._find_head(lane)
        return self._fresh.remove_below(before_offset)

    def truncate(self, end_offset: int) -> int:
        self._gone = {offset for offset in self._gone if offset < end_offset}
        for lane in list(self._lanes.values()):
            if len(lane) and lane.first >= end_offset:
                del self._heads[lane.first]
            lane.drop_from(end_offset)
            self._drop_if_idle(lane)
        return self._fresh.remove_from(end_offset)

    def _sweep(self, order: list[int]) -> None:
        """Removes stale entries from a heap of first messages."""
        order[:] = [offset for offset in set(order) if offset in self._heads]
        heapify(order)
