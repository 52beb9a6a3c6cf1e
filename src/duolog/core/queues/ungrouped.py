"""Waiting messages of a standard queue in which no message has a group."""

from array import array
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from duolog.core.queues.held import Held
from duolog.core.queues.ranges import OffsetRanges
from duolog.records.delivery_image import Image, from_column, to_column


class Ungrouped:
    __slots__ = ("fresh", "returned", "returned_next")

    def __init__(self) -> None:
        self.fresh = OffsetRanges()
        self.returned: OrderedDict[int, bytes | None] = OrderedDict()
        """Returned messages with their groups, oldest return first."""
        self.returned_next = False
        """True if a returned message is due next. Returned and fresh ones take turns, so that
        neither a message that keeps failing nor an endless stream of new ones starves the
        others."""

    def add_range(self, first: int, next_offset: int) -> None:
        self.fresh.append(first, next_offset)

    def add(self, offset: int, group: bytes | None, sent_ms: int) -> None:
        self.fresh.append(offset, offset + 1)

    def add_delayed(self, offset: int, group: bytes | None) -> None:
        pass

    def mature(self, pieces: Sequence[tuple[int, int]], now_ms: int) -> None:
        for first, next_offset in pieces:
            self.fresh.add(first, next_offset)

    def discard_delayed(self, offset: int) -> None:
        pass

    def replay(
        self, pieces: Sequence[tuple[int, int]], groups: Mapping[int, bytes], now_ms: int
    ) -> None:
        self.mature(pieces, now_ms)

    def choose(self, count: int, now_ms: int) -> Sequence[int]:
        if not self.returned:
            return self.fresh.peek(count)
        return take_turns(self.returned, self.fresh.peek(count), self.returned_next, count)

    def deliver(self, offset: int, now_ms: int) -> bytes | None:
        if not self.fresh.discard(offset):
            raise KeyError(offset)
        self.returned_next = True
        return None

    def deliver_first(self, run: range) -> bool:
        """Delivers the run if it is how the fresh messages begin; False if it is not."""
        if not self.fresh.take_first(run.start, run.stop):
            return False
        self.returned_next = True
        return True

    def redeliver(self, offset: int, held: Held, now_ms: int) -> None:
        del self.returned[offset]
        self.returned_next = False

    def give_back(self, offset: int, held: Held, now_ms: int) -> None:
        self.returned[offset] = held.group

    def settle(self, held: Held, now_ms: int) -> None:
        pass

    def restore(self, offset: int, held: Held) -> None:
        self.returned[offset] = held.group

    def discard(self, offset: int) -> bool:
        return self.fresh.discard(offset)

    def discard_returned(self, offset: int, held: Held) -> None:
        del self.returned[offset]

    def trim(self, before_offset: int) -> int:
        return self.fresh.remove_below(before_offset)

    def truncate(self, end_offset: int) -> int:
        return self.fresh.remove_from(end_offset)

    def is_fresh(self, offset: int) -> bool:
        return offset in self.fresh

    def first_fresh(self) -> int | None:
        return self.fresh.first

    def fresh_pieces(self, from_offset: int) -> Iterator[tuple[int, int]]:
        return self.fresh.pieces(from_offset)

    def save(self, image: Image) -> None:
        image.fresh = to_column(self.fresh.to_array())
        image.returned = to_column(array("q", self.returned))
        image.returned_next = self.returned_next

    def load(self, image: Image, held: Mapping[int, Held]) -> None:
        self.fresh = OffsetRanges.from_array(from_column(image.fresh))
        for offset in from_column(image.returned):
            self.returned[offset] = held[offset].group
        self.returned_next = image.returned_next


def take_turns(
    returned: Iterable[int], fresh: Sequence[int], returned_next: bool, count: int
) -> list[int]:
    """Alternates between both, up to `count`; goes on with one when the other has run out."""
    first: Sequence[int] = list(islice(returned, count))
    second = fresh
    if not returned_next:
        first, second = second, first
    paired = min(len(first), len(second))
    turns = [offset for pair in zip(first, second, strict=False) for offset in pair]
    turns += first[paired:]
    turns += second[paired:]
    return turns[:count]
