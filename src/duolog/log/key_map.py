"""Where the last record of each key lies, in bounded memory."""

from hashlib import blake2b

KEYS_MAX = 500_000
"""Keys that one compaction tells apart, about 100 MB; it goes as far as they reach."""

_DIGEST_BYTES = 16


class KeyMap:
    """Keys are held by a 128-bit digest: two that share one are not to be expected."""

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
    """A shorter key stands for itself: its length tells it from every digest."""
    return key if len(key) < _DIGEST_BYTES else blake2b(key, digest_size=_DIGEST_BYTES).digest()
