"""Waiting messages of a FIFO queue: each group in order, and to one consumer at a time.

A lane holds all waiting messages of its group: delayed ones, which block those behind them, and
returned ones, which went back to their place. While any message of the group is in flight the lane
is locked.
"""

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

from duolog.core.queues.delayed import Delayed
from duolog.core.queues.held import Held
from duolog.core.queues.lanes import STALE_ENTRIES_MIN, Lane, Lanes
from duolog.core.queues.ranges import OffsetRanges
from duolog.records.delivery_image import Image, from_column, to_column

NO_GROUP = b""
"""Group of messages without a key, from Kafka producers."""


class FifoGroups(Lanes[Lane]):
    __slots__ = ("_delayed", "_order")

    def __init__(self, delayed: Delayed) -> None:
        super().__init__()
        self._delayed = delayed
        self._order: list[int] = []
        """Heap of the first messages of lanes that are not locked. An entry is stale if its message
        is no longer first, or its lane was locked."""

    def add_range(self, first: int, next_offset: int) -> None:
        lane = self._lane(NO_GROUP)
        for offset in range(first, next_offset):
            self._append(lane, offset)
        self._fresh.append(first, next_offset)

    def add(self, offset: int, group: bytes | None, sent_ms: int) -> None:
        group = group or NO_GROUP
        lane = self._lanes.get(group)
        if lane is None:
            lane = self._lanes[group] = Lane(group)
        self._append(lane, offset)
        self._fresh.append(offset, offset + 1)

    def add_delayed(self, offset: int, group: bytes | None) -> None:
        self._append(self._lane(group or NO_GROUP), offset)

    def mature(self, pieces: Sequence[tuple[int, int]], now_ms: int) -> None:
        for first, next_offset in pieces:
            self._fresh.add(first, next_offset)
            for offset in range(first, next_offset):
                lane = self._heads.get(offset)
                if lane is not None:
                    self._offer(lane)

    def discard_delayed(self, offset: int) -> None:
        self._discard_from_lane(offset)

    def replay(
        self, pieces: Sequence[tuple[int, int]], groups: Mapping[int, bytes], now_ms: int
    ) -> None:
        by_group: dict[bytes, list[int]] = {}
        for first, next_offset in pieces:
            self._fresh.add(first, next_offset)
            for offset in range(first, next_offset):
                by_group.setdefault(groups.get(offset, NO_GROUP), []).append(offset)
        for group, offsets in by_group.items():
            self._insert(self._lane(group), offsets)

    def has(self, group: bytes) -> bool:
        return group in self._lanes

    def choose(self, count: int, now_ms: int) -> list[int]:
        """Takes as many messages as possible from the group with the oldest one, then from the
        next."""
        chosen: list[int] = []
        opened: list[int] = []
        order, delayed = self._order, self._delayed
        while order and len(chosen) < count:
            lane = self._heads.get(order[0])
            if lane is None or lane.in_flight or (delayed.count and order[0] in delayed):
                heappop(order)
                continue
            self._take_from(lane, chosen, count)
            if len(chosen) == count:
                break
            first = heappop(order)
            while order and order[0] == first:
                heappop(order)
            opened.append(first)
        for first in opened:
            heappush(order, first)
        return chosen

    def _take_from(self, lane: Lane, chosen: list[int], count: int) -> None:
        if not self._gone and not self._delayed.count:
            chosen += lane.offsets[lane.head : lane.head + count - len(chosen)]
            return
        for at in range(lane.head, len(lane.offsets)):
            offset = lane.offsets[at]
            if len(chosen) == count or offset in self._delayed:
                break
            if offset not in self._gone:
                chosen.append(offset)

    def deliver(self, offset: int, now_ms: int) -> bytes | None:
        if not self._fresh.discard(offset):
            raise KeyError(offset)
        lane = self._heads.get(offset)
        if lane is None:
            lane = self._lane_of(offset)
        lane.in_flight += 1
        self._remove(lane, offset)
        return lane.group

    def redeliver(self, offset: int, held: Held, now_ms: int) -> None:
        lane = self._lanes[held.group or NO_GROUP]
        lane.in_flight += 1
        self._remove(lane, offset)

    def give_back(self, offset: int, held: Held, now_ms: int) -> None:
        self._insert(self._lanes[held.group or NO_GROUP], (offset,))
        self.settle(held, now_ms)

    def settle(self, held: Held, now_ms: int) -> None:
        lane = self._lanes[held.group or NO_GROUP]
        lane.in_flight -= 1
        if not lane.in_flight:
            if len(lane):
                self._offer(lane)
            else:
                del self._lanes[lane.group]

    def restore(self, offset: int, held: Held) -> None:
        self._insert(self._lane(held.group or NO_GROUP), (offset,))

    def discard_returned(self, offset: int, held: Held) -> None:
        self._remove(self._lanes[held.group or NO_GROUP], offset)

    def save(self, image: Image) -> None:
        super().save(image)
        image.fresh = to_column(self._fresh.to_array())

    def load(self, image: Image, held: Mapping[int, Held]) -> None:
        self._fresh = OffsetRanges.from_array(from_column(image.fresh))
        super().load(image, held)

    def _make(self, group: bytes) -> Lane:
        return Lane(group)

    def _offer(self, lane: Lane) -> None:
        if lane.in_flight:
            return
        first = lane.offsets[lane.head]
        if self._delayed.count and first in self._delayed:
            return
        heappush(self._order, first)
        if len(self._order) > 2 * len(self._heads) + STALE_ENTRIES_MIN:
            self._sweep(self._order)
