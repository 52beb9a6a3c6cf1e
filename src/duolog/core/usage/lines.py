"""Usage lines: what the records of the internal topic say, one for each key of an interval."""

import msgspec

from duolog.core.usage.keys import Counts, UsageKey
from duolog.core.usage.slots import Interval
from duolog.records.builder import build_batch
from duolog.records.compression import NONE, ZSTD
from duolog.records.record import Record

VERSION = 1
COMPRESSED_FROM_LINES = 8
"""Fewer lines than this gain little."""
SEQUENCE_MASK = 0x7FFF_FFFF
PRODUCER_EPOCH = 0


class UsageLine(msgspec.Struct, frozen=True):
    """(node, journal, sequence, line) names it for ever; a reader counts each once."""

    version: int
    node: int
    journal: str
    """That of one data directory."""
    sequence: int
    """That of the interval. A journal's have no gaps."""
    line: int
    lines: int
    """How many the interval has."""
    from_ms: int
    to_ms: int
    tenant: str
    kind: str
    resource: str
    operation: str
    requests: int
    messages: int
    bytes: int
    byte_seconds: int
    errors: int


def lines_of(interval: Interval, *, node: int, journal: str) -> list[UsageLine]:
    rows: list[tuple[UsageKey, Counts]] = interval.counts
    return [
        UsageLine(
            VERSION,
            node,
            journal,
            interval.sequence,
            number,
            len(rows),
            interval.from_ms,
            interval.to_ms,
            *key,
            *counts,
        )
        for number, (key, counts) in enumerate(rows)
    ]


def batch_of(lines: list[UsageLine], *, producer_id: int, base_sequence: int) -> bytearray:
    """One batch, by whose producer and sequence a repetition is recognised."""
    encode = msgspec.json.Encoder().encode
    return build_batch(
        [Record(line.tenant.encode(), encode(line), timestamp=line.to_ms) for line in lines],
        compression=ZSTD if len(lines) >= COMPRESSED_FROM_LINES else NONE,
        producer_id=producer_id,
        producer_epoch=PRODUCER_EPOCH,
        base_sequence=base_sequence,
    )
