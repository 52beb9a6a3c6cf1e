"""Keys by which usage is counted: who pays, what was used, and how."""

from typing import NamedTuple

OTHER = "*other*"
"""Stands for all names beyond the number that is counted apart. No queue, topic or account can have
this name."""

_SEPARATOR = "\0"
_PARTS = 4


class UsageKey(NamedTuple):
    tenant: str
    kind: str
    resource: str
    operation: str

    def encode(self) -> bytes:
        return _SEPARATOR.join(self).encode()

    @property
    def folded(self) -> "UsageKey":
        """The key under which all resources are counted that are not counted apart."""
        return self._replace(resource=OTHER)


def decode_key(data: bytes) -> UsageKey | None:
    """Decodes a key; None for other bytes: a power cut can leave any."""
    try:
        parts = data.decode().split(_SEPARATOR)
    except UnicodeDecodeError:
        return None
    return UsageKey(*parts) if len(parts) == _PARTS else None


class Counts(NamedTuple):
    requests: int = 0
    messages: int = 0
    bytes: int = 0
    byte_seconds: int = 0
    errors: int = 0

    def plus(self, other: "Counts") -> "Counts":
        return Counts(*map(sum, zip(self, other, strict=True)))


NOTHING = Counts()
