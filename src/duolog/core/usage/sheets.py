"""Usage sheets: the records of the internal usage topic.

A usage line holds the counts of one key in an interval. The lines of an interval are written
together and by column, so that what they share is stored once.
"""

from typing import Any

import msgspec

from duolog.core.usage.keys import Counts, UsageKey
from duolog.core.usage.slots import Interval
from duolog.records.builder import build_batch
from duolog.records.compression import NONE, ZSTD
from duolog.records.record import Record

VERSION = 1
LINES_MAX = 1_024
"""Limit of lines in a sheet, which keeps it below 1 MB even with the longest names."""
COMPRESSED_FROM_LINES = 8
"""Number of lines from which compression is worth its cost."""
SEQUENCE_MASK = 0x7FFF_FFFF
PRODUCER_EPOCH = 0


class UsageSheet(msgspec.Struct, frozen=True):
    """Usage of one interval or a part of it, named for ever by (node, journal, sequence, part).

    A reader counts each name once.
    """

    version: int
    node: int
    journal: str
    """Id of the data directory that counted."""
    sequence: int
    """Number of the interval; a journal's numbers have no gaps."""
    part: int
    """Index of this sheet among those of the interval."""
    parts: int
    from_ms: int
    to_ms: int
    tenant: list[str]
    """Tenant of each line; the lists that follow have one entry per line, too."""
    kind: list[str]
    resource: list[str]
    operation: list[str]
    requests: list[int]
    messages: list[int]
    bytes: list[int]
    byte_seconds: list[int]
    errors: list[int]


def sheet_count(interval: Interval) -> int:
    return -(-len(interval.counts) // LINES_MAX)


def sheets_of(interval: Interval, *, node: int, journal: str) -> list[UsageSheet]:
    parts = sheet_count(interval)
    return [
        UsageSheet(
            VERSION,
            node,
            journal,
            interval.sequence,
            part,
            parts,
            interval.from_ms,
            interval.to_ms,
            *_columns(interval.counts[part * LINES_MAX : (part + 1) * LINES_MAX]),
        )
        for part in range(parts)
    ]


def _columns(rows: list[tuple[UsageKey, Counts]]) -> list[list[Any]]:
    return [list(column) for column in zip(*((*key, *counts) for key, counts in rows), strict=True)]


def batch_of(sheets: list[UsageSheet], *, producer_id: int, base_sequence: int) -> bytearray:
    """One batch; its producer id and sequence make a repeated write recognisable."""
    encode = msgspec.json.Encoder().encode
    lines = sum(len(sheet.tenant) for sheet in sheets)
    return build_batch(
        [Record(each.journal.encode(), encode(each), timestamp=each.to_ms) for each in sheets],
        compression=ZSTD if lines >= COMPRESSED_FROM_LINES else NONE,
        producer_id=producer_id,
        producer_epoch=PRODUCER_EPOCH,
        base_sequence=base_sequence,
    )
