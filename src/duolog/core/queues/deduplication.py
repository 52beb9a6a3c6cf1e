"""Recognises a message with a deduplication id that was sent in the last five minutes.

Saved behind the delivery state in its snapshots. Without one, the broker rebuilds it from the last
minutes of the log, where every message carries its deduplication id, even if it is done.

There can be a million keys, so nothing but the key and its offset is kept for each: keys of one
minute share a table that is forgotten as a whole, and a key's time of sending is found by its
offset.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from hashlib import blake2b
from operator import itemgetter
from struct import Struct

from duolog.records.deduplication_image import KeyTable
from duolog.records.delivery_image import from_column, to_column

DEDUPLICATION_MS = 300_000
GENERATION_MS = 60_000
"""Time span of one table: longer keeps expired keys for longer, shorter makes more tables to
search."""

_KEY_BYTES = 15
"""Digest size: unguessable, yet a quarter less memory than with sixteen bytes, since Python adds
33 bytes to each and allocates in steps of sixteen."""
SAVED_KEYS_MAX = 20_000
"""Keys of a saved table, which is then written, or read, within a few milliseconds."""

_key_of = itemgetter(0)


class Deduplication:
    __slots__ = ("_generations",)

    def __init__(self) -> None:
        self._generations: list[_Generation] = []
        """Tables of keys, oldest first."""

    def __len__(self) -> int:
        """Number of keys held, expired ones included."""
        return sum(len(generation.offsets) for generation in self._generations)

    def find(self, key: bytes, now_ms: int) -> int | None:
        """Offset of the message that was sent with this key in the last five minutes."""
        self.expire(now_ms)
        for generation in reversed(self._generations):
            offset = generation.offsets.get(key)
            if offset is not None:
                is_known = generation.sent_ms(offset) > now_ms - DEDUPLICATION_MS
                return offset if is_known else None
        return None

    def remember(self, key: bytes, offset: int, sent_ms: int) -> None:
        """Remembers the key of a message being staged, so that a duplicate right behind it is
        recognised."""
        if self.find(key, sent_ms) is not None:
            return
        generations = self._generations
        if not generations or sent_ms >= generations[-1].begun_ms + GENERATION_MS:
            generations.append(_Generation(sent_ms))
        generations[-1].add(key, offset, sent_ms)

    def remember_late(self, key: bytes, offset: int, sent_ms: int) -> None:
        """Remembers the key of a message that younger ones may have overtaken: a Kafka producer's
        is noticed once it is committed, the queue's own when they are appended."""
        if self.find(key, sent_ms) is not None:
            return
        generations = self._generations
        if not generations or sent_ms >= generations[-1].begun_ms + GENERATION_MS:
            generations.append(_Generation(sent_ms))
        generations[-1].add_late(key, offset, sent_ms)

    def save(self, end_offset: int) -> Iterator[KeyTable]:
        """Yields the keys of the messages below the offset, as they are now or were remembered
        since: more may be remembered between two tables, all of later messages."""
        for generation in tuple(self._generations):
            yield from generation.save(end_offset)

    def load(self, table: KeyTable, now_ms: int) -> None:
        """Adds a saved table; they come in the order in which they were saved.

        The clock of the node that made it may be ahead of ours: its times are capped at `now_ms`.
        Raises ValueError if the table contradicts itself.
        """
        generations = self._generations
        if not generations or generations[-1].begun_ms != min(table.begun_ms, now_ms):
            generations.append(_Generation(min(table.begun_ms, now_ms)))
        generations[-1].load(table, now_ms)

    def forget_from(self, offset: int) -> None:
        """Forgets messages from this offset on: their write failed, so they were never sent."""
        # All of them: a message that was overtaken may be in a later table than those behind it.
        self._generations = [each for each in self._generations if each.truncate(offset)]

    def expire(self, now_ms: int) -> None:
        generations = self._generations
        while generations and generations[0].ended_ms <= now_ms - DEDUPLICATION_MS:
            del generations[0]


class _Generation:
    """Keys of one span of time."""

    __slots__ = (
        "_first_offsets",
        "_is_ordered",
        "_times_ms",
        "begun_ms",
        "ended_ms",
        "offsets",
    )

    def __init__(self, begun_ms: int) -> None:
        self.begun_ms = self.ended_ms = begun_ms
        self.offsets: dict[bytes, int] = {}
        """Keys in the order in which they were added, nearly always that of their offsets."""
        self._is_ordered = True
        self._first_offsets = array("q")
        self._times_ms = array("q")
        """Time at which messages from the offset at the same index in _first_offsets on were sent;
        one entry per millisecond."""

    def add(self, key: bytes, offset: int, sent_ms: int) -> None:
        # An expired twin would keep its place in the order.
        self.offsets.pop(key, None)
        self.offsets[key] = offset
        if not self._times_ms or self._times_ms[-1] != sent_ms:
            self._first_offsets.append(offset)
            self._times_ms.append(sent_ms)
            self.ended_ms = max(self.ended_ms, sent_ms)

    def add_late(self, key: bytes, offset: int, sent_ms: int) -> None:
        """Adds a message that younger ones may have overtaken."""
        if self._is_ordered and next(reversed(self.offsets.values()), -1) < offset:
            self.add(key, offset, sent_ms)
            return
        self.offsets.pop(key, None)
        self.offsets[key] = offset
        self.ended_ms = max(self.ended_ms, sent_ms)
        self._is_ordered = False
        at = bisect_right(self._first_offsets, offset)
        firsts, times = array("q", [offset]), array("q", [sent_ms])
        if at and (at == len(self._first_offsets) or self._first_offsets[at] > offset + 1):
            # Those behind it in its stretch keep their time.
            firsts.append(offset + 1)
            times.append(self._times_ms[at - 1])
        self._first_offsets[at:at] = firsts
        self._times_ms[at:at] = times

    def sent_ms(self, offset: int) -> int:
        return self._times_ms[bisect_right(self._first_offsets, offset) - 1]

    def truncate(self, end_offset: int) -> bool:
        """Forgets the keys from the offset on; False if none is left."""
        self._put_in_order()
        offsets = self.offsets
        while offsets and next(reversed(offsets.values())) >= end_offset:
            offsets.popitem()
        kept = bisect_left(self._first_offsets, end_offset)
        del self._first_offsets[kept:], self._times_ms[kept:]
        return bool(offsets)

    def _put_in_order(self) -> None:
        if not self._is_ordered:
            self.offsets = dict(sorted(self.offsets.items(), key=itemgetter(1)))
            self._is_ordered = True

    def save(self, end_offset: int) -> Iterator[KeyTable]:
        self._put_in_order()
        keys = tuple(self.offsets)
        offsets = array("q", self.offsets.values())
        # Those that are added, or replaced, between two tables are of later messages.
        firsts, times = self._first_offsets[:], self._times_ms[:]
        saved = bisect_left(offsets, end_offset)
        for first in range(0, saved, SAVED_KEYS_MAX):
            some = offsets[first : min(first + SAVED_KEYS_MAX, saved)]
            low = max(bisect_right(firsts, some[0]) - 1, 0)
            high = bisect_right(firsts, some[-1])
            yield KeyTable(
                begun_ms=self.begun_ms,
                keys=b"".join(keys[first : first + len(some)]),
                offsets=to_column(some),
                first_offsets=to_column(firsts[low:high]),
                times_ms=to_column(times[low:high]),
            )

    def load(self, table: KeyTable, now_ms: int) -> None:
        offsets = from_column(table.offsets)
        firsts, times = from_column(table.first_offsets), from_column(table.times_ms)
        if len(table.keys) != _KEY_BYTES * len(offsets) or len(firsts) != len(times):
            raise ValueError("a table of deduplication keys whose columns differ in length")
        if not offsets:
            return
        if not firsts or firsts[0] > offsets[0]:
            raise ValueError("deduplication keys without a time")
        if max(times) > now_ms:
            times = array("q", (min(each, now_ms) for each in times))
        keys = map(_key_of, Struct(f"{_KEY_BYTES}s").iter_unpack(table.keys))
        self.offsets.update(zip(keys, offsets, strict=True))
        if self._first_offsets and firsts[0] <= self._first_offsets[-1]:
            # A stretch that two tables share.
            firsts, times = firsts[1:], times[1:]
        self._first_offsets += firsts
        self._times_ms += times
        self.ended_ms = max(self.ended_ms, max(times, default=self.ended_ms))


def deduplication_key(dedup_id: bytes, group: bytes | None) -> bytes:
    """Short digest of a deduplication id, scoped to the message group if one is given."""
    if group is None:
        return blake2b(dedup_id, digest_size=_KEY_BYTES).digest()
    # The length separates group and id: joined without it, different pairs could read the same.
    scoped = len(group).to_bytes(4, "big") + group + dedup_id
    return blake2b(scoped, digest_size=_KEY_BYTES, person=b"message group").digest()
