"""Recognises a message that was sent already within the last five minutes.

It is not part of the delivery state's snapshot: the broker rebuilds it from the newest minutes
of the log, where every message carries its deduplication id, also one that is done by now.

There can be a million keys, so nothing is kept for each of them but the key and its offset:
keys of one minute share a table that is forgotten as a whole, and when one of them was sent
is known by its offset.
"""

from array import array
from bisect import bisect_left, bisect_right
from hashlib import blake2b

DEDUPLICATION_MS = 300_000
GENERATION_MS = 60_000
"""Longer ones keep expired keys for longer; shorter ones are more tables to look into."""

_KEY_BYTES = 15
"""Unguessable all the same, and a quarter less memory than sixteen bytes would take: Python
allocates in steps of sixteen, of which 33 are its own."""


class Deduplication:
    __slots__ = ("_generations",)

    def __init__(self) -> None:
        self._generations: list[_Generation] = []
        """Oldest first."""

    def __len__(self) -> int:
        """Keys that are kept, also those that have expired meanwhile."""
        return sum(len(generation.offsets) for generation in self._generations)

    def find(self, key: bytes, now_ms: int) -> int | None:
        """Offset of the first message with this key."""
        self.expire(now_ms)
        for generation in reversed(self._generations):
            offset = generation.offsets.get(key)
            if offset is not None:
                is_known = generation.sent_ms(offset) > now_ms - DEDUPLICATION_MS
                return offset if is_known else None
        return None

    def remember(self, key: bytes, offset: int, sent_ms: int) -> None:
        """Called when the message is staged, so that a twin close behind it is recognised."""
        if self.find(key, sent_ms) is not None:
            return
        generations = self._generations
        if not generations or sent_ms >= generations[-1].begun_ms + GENERATION_MS:
            generations.append(_Generation(sent_ms))
        generations[-1].add(key, offset, sent_ms)

    def forget_from(self, offset: int) -> None:
        """A write failed: messages at or above this offset were never sent."""
        while self._generations and not self._generations[-1].truncate(offset):
            self._generations.pop()

    def expire(self, now_ms: int) -> None:
        generations = self._generations
        while generations and generations[0].ended_ms <= now_ms - DEDUPLICATION_MS:
            del generations[0]


class _Generation:
    """The keys of one stretch of time."""

    __slots__ = ("_first_offsets", "_times_ms", "begun_ms", "ended_ms", "offsets")

    def __init__(self, begun_ms: int) -> None:
        self.begun_ms = self.ended_ms = begun_ms
        self.offsets: dict[bytes, int] = {}
        """In the order in which they were added, which is that of the offsets."""
        self._first_offsets = array("q")
        self._times_ms = array("q")
        """When the messages from that offset on were sent: one for all of a millisecond."""

    def add(self, key: bytes, offset: int, sent_ms: int) -> None:
        # One that has expired would stay at its place in the order.
        self.offsets.pop(key, None)
        self.offsets[key] = offset
        if not self._times_ms or self._times_ms[-1] != sent_ms:
            self._first_offsets.append(offset)
            self._times_ms.append(sent_ms)
            self.ended_ms = max(self.ended_ms, sent_ms)

    def sent_ms(self, offset: int) -> int:
        return self._times_ms[bisect_right(self._first_offsets, offset) - 1]

    def truncate(self, end_offset: int) -> bool:
        """Forget the keys from the offset on; whether any is left."""
        offsets = self.offsets
        while offsets and next(reversed(offsets.values())) >= end_offset:
            offsets.popitem()
        kept = bisect_left(self._first_offsets, end_offset)
        del self._first_offsets[kept:], self._times_ms[kept:]
        return bool(offsets)


def deduplication_key(dedup_id: bytes, group: bytes | None) -> bytes:
    """A few bytes that stand for a deduplication id, within a message group if one is given."""
    if group is None:
        return blake2b(dedup_id, digest_size=_KEY_BYTES).digest()
    # The length keeps apart what would read the same when simply joined.
    scoped = len(group).to_bytes(4, "big") + group + dedup_id
    return blake2b(scoped, digest_size=_KEY_BYTES, person=b"message group").digest()
