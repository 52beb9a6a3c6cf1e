"""Recognises a message that was sent already within the last five minutes.

It is not part of the delivery state's snapshot: the broker rebuilds it from the newest minutes
of the log, where every message carries its deduplication id, also one that is done by now.
"""

from collections import deque
from hashlib import blake2b

DEDUPLICATION_MS = 300_000


class Deduplication:
    __slots__ = ("_keys", "_offsets", "_sent_ms")

    def __init__(self) -> None:
        self._offsets: dict[bytes, int] = {}
        self._keys: deque[bytes] = deque()
        """Oldest first, as are the times beside them."""
        self._sent_ms: deque[int] = deque()

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, key: bytes, now_ms: int) -> int | None:
        """Offset of the first message with this key."""
        self.expire(now_ms)
        return self._offsets.get(key)

    def remember(self, key: bytes, offset: int, sent_ms: int) -> None:
        """Called when the message is staged, so that a twin close behind it is recognised."""
        self.expire(sent_ms)
        if key in self._offsets:
            return
        self._offsets[key] = offset
        self._keys.append(key)
        self._sent_ms.append(sent_ms)

    def forget_from(self, offset: int) -> None:
        """A write failed: messages at or above this offset were never sent."""
        while self._keys and self._offsets[self._keys[-1]] >= offset:
            del self._offsets[self._keys.pop()]
            self._sent_ms.pop()

    def expire(self, now_ms: int) -> None:
        while self._sent_ms and self._sent_ms[0] <= now_ms - DEDUPLICATION_MS:
            self._sent_ms.popleft()
            del self._offsets[self._keys.popleft()]


def deduplication_key(dedup_id: bytes, group: bytes | None) -> bytes:
    """Sixteen bytes that stand for a deduplication id, within a message group if one is given."""
    if group is None:
        return blake2b(dedup_id, digest_size=16).digest()
    # The length keeps apart what would read the same when simply joined.
    scoped = len(group).to_bytes(4, "big") + group + dedup_id
    return blake2b(scoped, digest_size=16, person=b"message group").digest()
