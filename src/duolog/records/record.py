"""One record, decoded. Exists only where a batch has to be opened, never on the hot path."""

from typing import NamedTuple

from duolog.records.header import NO_TIMESTAMP

RECORD_BYTES_MIN = 7
"""Length, attributes, two deltas, two absent payloads and no headers: a byte each."""


class Record(NamedTuple):
    """A NamedTuple, because a frozen dataclass takes three times as long to make."""

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = NO_TIMESTAMP
    """Milliseconds since 1970; that of the append where the topic stamps records itself."""
    offset: int | None = None
    """None in a record to be built: it follows its neighbour. Always given in one that was read."""
