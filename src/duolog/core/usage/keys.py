"""What usage is counted by: who pays, what was used, and how."""

from typing import NamedTuple

OTHER = "*other*"
"""In place of a name where there are more names than are counted apart. No queue, topic or
account can have it."""

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
        """That of all resources together which are not counted apart."""
        return self._replace(resource=OTHER)


def decode_key(data: bytes) -> UsageKey | None:
    """None for bytes that are no key: a power cut can leave any."""
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
