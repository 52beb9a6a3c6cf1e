"""Decoded record. Exists only if a batch has to be opened, never on the hot path."""

from typing import NamedTuple

from duolog.records.header import NO_TIMESTAMP

RECORD_BYTES_MIN = 7
"""Bytes of the smallest record: length, attributes, two deltas, two absent payloads, no headers."""


class Record(NamedTuple):
    """One record. A NamedTuple, because a frozen dataclass takes three times as long to make."""

    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int = NO_TIMESTAMP
    """Milliseconds since 1970; the time of the append if the topic stamps records itself."""
    offset: int | None = None
    """Offset of a record that was read; None in one to be built, which follows its neighbour."""
