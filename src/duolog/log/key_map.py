"""Offset of the last record of each key, in bounded memory."""

from hashlib import blake2b

KEYS_MAX = 500_000
"""Limit of keys in one compaction, about 100 MB; when it is reached, the compaction ends there."""

_DIGEST_BYTES = 16


class KeyMap:
    """Last offset by key. Long keys are held as 128-bit digests: a collision is not to be
    expected."""

    __slots__ = ("_keys_max", "_offsets")

    def __init__(self, keys_max: int = KEYS_MAX) -> None:
        self._keys_max = keys_max
        self._offsets: dict[bytes, int] = {}

    @property
    def is_full(self) -> bool:
        return len(self._offsets) >= self._keys_max

    def put(self, key: bytes, offset: int) -> None:
        self._offsets[_digest(key)] = offset

    def has_later(self, key: bytes, offset: int) -> bool:
        return self._offsets.get(_digest(key), -1) > offset


def _digest(key: bytes) -> bytes:
    """Digest of a long key. A shorter one stands for itself: its length tells it from any
    digest."""
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()
