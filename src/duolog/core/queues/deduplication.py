"""Recognises a message with a deduplication id that was sent in the last five minutes.

Not part of the delivery state's snapshot: the broker rebuilds it from the last minutes of the log,
where every message carries its deduplication id, even if it is done.

There can be a million keys, so nothing but the key and its offset is kept for each: keys of one
minute share a table that is forgotten as a whole, and a key's time of sending is found by its
offset.
"""

from array import array
from bisect import bisect_left, bisect_right
from hashlib import blake2b

DEDUPLICATION_MS = 300_000
GENERATION_MS = 60_000
"""Time span of one table: longer keeps expired keys for longer, shorter makes more tables to
search."""

_KEY_BYTES = 15
"""Digest size: unguessable, yet a quarter less memory than with sixteen bytes, since Python adds
33 bytes to each and allocates in steps of sixteen."""


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

    def forget_from(self, offset: int) -> None:
        """Forgets messages from this offset on: their write failed, so they were never sent."""
        while self._generations and not self._generations[-1].truncate(offset):
            self._generations.pop()

    def expire(self, now_ms: int) -> None:
        generations = self._generations
        while generations and generations[0].ended_ms <= now_ms - DEDUPLICATION_MS:
            del generations[0]


class _Generation:
    """Keys of one span of time."""

    __slots__ = ("_first_offsets", "_times_ms", "begun_ms", "ended_ms", "offsets")

    def __init__(self, begun_ms: int) -> None:
        self.begun_ms = self.ended_ms = begun_ms
        self.offsets: dict[bytes, int] = {}
        """Keys in the order in which they were added, which is that of their offsets."""
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

    def sent_ms(self, offset: int) -> int:
        return self._times_ms[bisect_right(self._first_offsets, offset) - 1]

    def truncate(self, end_offset: int) -> bool:
        """Forgets the keys from the offset on; False if none is left."""
        offsets = self.offsets
        while offsets and next(reversed(offsets.values())) >= end_offset:
            offsets.popitem()
        kept = bisect_left(self._first_offsets, end_offset)
        del self._first_offsets[kept:], self._times_ms[kept:]
        return bool(offsets)


def deduplication_key(dedup_id: bytes, group: bytes | None) -> bytes:
    """Short digest of a deduplication id, scoped to the message group if one is given."""
    if group is None:
        return blake2b(dedup_id, digest_size=_KEY_BYTES).digest()
    # The length separates group and id: joined without it, different pairs could read the same.
    scoped = len(group).to_bytes(4, "big") + group + dedup_id
    return blake2b(scoped, digest_size=_KEY_BYTES, person=b"message group").digest()
