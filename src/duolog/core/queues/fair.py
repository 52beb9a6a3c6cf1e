"""Waiting messages of a standard queue in which some have a message group.

The oldest message goes first, whatever its group, but messages of noisy groups only after all
others: one tenant with a large backlog does not keep the rest waiting (SQS: fair queues).
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush, merge
from itertools import chain, starmap

from duolog.core.queues.held import Held
from duolog.core.queues.lanes import STALE_ENTRIES_MIN, Lanes
from duolog.core.queues.noise import FairLane, Noise
from duolog.core.queues.ranges import OffsetRanges
from duolog.core.queues.ungrouped import Ungrouped, take_turns
from duolog.records.delivery_image import Image, from_column, to_column


class FairGroups(Lanes[FairLane]):
    __slots__ = ("_delayed_groups", "_noise", "_noisy", "_quiet", "_returned_noisy", "_ungrouped")

    def __init__(self, ungrouped: Ungrouped, in_flight: int) -> None:
        super().__init__()
        self._ungrouped = ungrouped
        """Fresh messages without a group, and returned ones except those set aside as noisy."""
        self._returned_noisy: OrderedDict[int, bytes | None] = OrderedDict()
        self._quiet: list[int] = []
        """Heap of the first messages of quiet lanes. An entry is stale if the message is no longer
        first, or its group has become noisy."""
        self._noisy: list[int] = []
        """Heap of the first messages of noisy lanes, with stale entries likewise."""
        self._delayed_groups: dict[int, bytes] = {}
        self._noise = Noise(in_flight)

    def add_range(self, first: int, next_offset: int) -> None:
        self._ungrouped.add_range(first, next_offset)

    def add(self, offset: int, group: bytes | None, sent_ms: int) -> None:
        if group is None:
            self._ungrouped.add_range(offset, offset + 1)
            return
        self._append(self._enter(group, sent_ms), offset)
        self._fresh.append(offset, offset + 1)

    def add_delayed(self, offset: int, group: bytes | None) -> None:
        if group is not None:
            self._delayed_groups[offset] = group

    def mature(self, pieces: Sequence[tuple[int, int]], now_ms: int) -> None:
        groups = self._delayed_groups
        self.replay(pieces, groups, now_ms)
        if groups:
            for first, next_offset in pieces:
                for offset in range(first, next_offset):
                    groups.pop(offset, None)

    def discard_delayed(self, offset: int) -> None:
        self._delayed_groups.pop(offset, None)

    def replay(
        self, pieces: Sequence[tuple[int, int]], groups: Mapping[int, bytes], now_ms: int
    ) -> None:
        if not groups:
            self._ungrouped.mature(pieces, now_ms)
            return
        by_group: dict[bytes, list[int]] = {}
        for offset in chain.from_iterable(starmap(range, pieces)):
            group = groups.get(offset)
            if group is None:
                self._ungrouped.fresh.add(offset, offset + 1)
            else:
                self._fresh.add(offset, offset + 1)
                by_group.setdefault(group, []).append(offset)
        for group, offsets in by_group.items():
            self._insert(self._enter(group, now_ms), offsets)

    def choose(self, count: int, now_ms: int) -> list[int]:
        if self._noise:
            for lane in self._noise.pop_silent(now_ms):
                self._quieten(lane)
        turn = self._ungrouped.returned_next
        fresh = self._oldest(self._quiet, count)
        if self._ungrouped.fresh.count:
            fresh = sorted([*fresh, *self._ungrouped.fresh.peek(count)])[:count]
        chosen = fresh
        if self._ungrouped.returned:
            chosen = take_turns(self._quiet_returned(count), fresh, turn, count)
        missing = count - len(chosen)
        if missing and self._noise:
            fresh = self._oldest(self._noisy, missing)
            chosen += take_turns(self._returned_noisy, fresh, turn, missing)
        return chosen

    def deliver(self, offset: int, now_ms: int) -> bytes | None:
        if not self._fresh.discard(offset):
            self._ungrouped.deliver(offset, now_ms)
            self._noise.count(None, 1, now_ms)
            return None
        self._ungrouped.returned_next = True
        lane = self._heads.get(offset)
        if lane is None:
            lane = self._lane_of(offset)
        self._noise.count(lane, 1, now_ms)
        self._remove(lane, offset)
        return lane.group

    def redeliver(self, offset: int, held: Held, now_ms: int) -> None:
        self._ungrouped.returned_next = False
        self._withdraw(offset)
        lane = None if held.group is None else self._lanes[held.group]
        self._noise.count(lane, 1, now_ms)
        if lane is not None:
            lane.returned -= 1

    def give_back(self, offset: int, held: Held, now_ms: int) -> None:
        self.restore(offset, held)
        self.settle(held, now_ms)

    def settle(self, held: Held, now_ms: int) -> None:
        lane = None if held.group is None else self._lanes[held.group]
        self._noise.count(lane, -1, now_ms)
        if lane is not None:
            self._drop_if_idle(lane)

    def restore(self, offset: int, held: Held) -> None:
        if held.group is not None:
            lane = self._lane(held.group)
            self._clear_if_drained(lane)
            lane.returned += 1
        self._ungrouped.restore(offset, held)

    def discard_returned(self, offset: int, held: Held) -> None:
        self._withdraw(offset)
        if held.group is not None:
            lane = self._lanes[held.group]
            lane.returned -= 1
            self._drop_if_idle(lane)

    def discard(self, offset: int) -> bool:
        return super().discard(offset) or self._ungrouped.discard(offset)

    def trim(self, before_offset: int) -> int:
        groups = self._delayed_groups
        self._delayed_groups = {at: groups[at] for at in groups if at >= before_offset}
        return super().trim(before_offset) + self._ungrouped.trim(before_offset)

    def truncate(self, end_offset: int) -> int:
        groups = self._delayed_groups
        self._delayed_groups = {at: groups[at] for at in groups if at < end_offset}
        return super().truncate(end_offset) + self._ungrouped.truncate(end_offset)

    def is_fresh(self, offset: int) -> bool:
        return offset in self._fresh or self._ungrouped.is_fresh(offset)

    def first_fresh(self) -> int | None:
        firsts = (self._fresh.first, self._ungrouped.first_fresh())
        return min((first for first in firsts if first is not None), default=None)

    def fresh_pieces(self, from_offset: int) -> Iterator[tuple[int, int]]:
        return merge(self._fresh.pieces(from_offset), self._ungrouped.fresh_pieces(from_offset))

    def save(self, image: Image) -> None:
        super().save(image)
        self._ungrouped.save(image)
        image.returned += to_column(array("q", self._returned_noisy))
        image.has_groups = True
        image.fresh_grouped = to_column(self._fresh.to_array())
        image.delayed_groups = sorted(self._delayed_groups.items())
        self._noise.save(image, (self._lanes[group] for group in image.lane_groups))

    def load(self, image: Image, held: Mapping[int, Held]) -> None:
        super().load(image, held)
        self._fresh = OffsetRanges.from_array(from_column(image.fresh_grouped))
        self._delayed_groups = dict(image.delayed_groups)
        for group in self._ungrouped.returned.values():
            if group is not None:
                self._lane(group).returned += 1
        self._noise.load(image, (self._lanes[group] for group in image.lane_groups))

    def _make(self, group: bytes) -> FairLane:
        return FairLane(group)

    def _offer(self, lane: FairLane) -> None:
        order = self._noisy if lane.is_noisy else self._quiet
        heappush(order, lane.offsets[lane.head])
        if len(order) > 2 * len(self._heads) + STALE_ENTRIES_MIN:
            self._sweep(order)

    def _enter(self, group: bytes, sent_ms: int) -> FairLane:
        """The lane of a group that gets another message; clears its noisy mark if it had
        drained."""
        lane = self._lane(group)
        lane.sent_ms = max(lane.sent_ms, sent_ms)
        self._clear_if_drained(lane)
        return lane

    def _clear_if_drained(self, lane: FairLane) -> None:
        # A drained lane keeps its mark until something waits again: until then it has no effect.
        if lane.is_noisy and not lane.has_backlog:
            self._noise.clear(lane)

    def _quieten(self, lane: FairLane) -> None:
        """Puts the waiting messages of a lane that is no longer noisy back among the quiet ones."""
        if len(lane):
            self._offer(lane)
        for offset in [at for at, group in self._returned_noisy.items() if group == lane.group]:
            self._ungrouped.returned[offset] = self._returned_noisy.pop(offset)

    def _drop_if_idle(self, lane: FairLane) -> None:
        if lane.is_idle:
            self._noise.clear(lane)
            self._lanes.pop(lane.group, None)

    def _withdraw(self, offset: int) -> None:
        if offset in self._returned_noisy:
            del self._returned_noisy[offset]
        else:
            del self._ungrouped.returned[offset]

    def _quiet_returned(self, count: int) -> Iterable[int]:
        """Returned messages of quiet groups, oldest return first; sets those of noisy groups
        aside."""
        returned = self._ungrouped.returned
        if not self._noise:
            return returned
        quiet: list[int] = []
        noisy: list[int] = []
        for offset, group in returned.items():
            if len(quiet) == count:
                break
            is_noisy = group is not None and self._lanes[group].is_noisy
            (noisy if is_noisy else quiet).append(offset)
        for offset in noisy:
            self._returned_noisy[offset] = returned.pop(offset)
        return quiet

    def _oldest(self, order: list[int], count: int) -> list[int]:
        """The oldest fresh messages of the lanes in a heap, which keeps its entries."""
        self._clean(order)
        if count == 1:
            return order[:1]
        oldest: list[int] = []
        opened: list[int] = []
        following: list[tuple[int, int, FairLane]] = []
        while len(oldest) < count:
            if following and (not order or following[0][0] < order[0]):
                offset, at, lane = heappop(following)
            elif order:
                offset = heappop(order)
                opened.append(offset)
                lane = self._heads[offset]
                at = lane.head
            else:
                break
            oldest.append(offset)
            at += 1
            while at < len(lane.offsets) and lane.offsets[at] in self._gone:
                at += 1
            if at < len(lane.offsets):
                heappush(following, (lane.offsets[at], at, lane))
            while order and order[0] == offset:
                heappop(order)
            self._clean(order)
        for offset in opened:
            heappush(order, offset)
        return oldest

    def _clean(self, order: list[int]) -> None:
        """Removes stale entries from the top of a heap."""
        while order:
            lane = self._heads.get(order[0])
            if lane is not None and lane.is_noisy is (order is self._noisy):
                break
            first = heappop(order)
            if lane is not None:
                heappush(self._noisy if lane.is_noisy else self._quiet, first)
