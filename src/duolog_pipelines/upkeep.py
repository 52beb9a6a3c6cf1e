"""Keeps Delta tables tidy: small files become large, and files that nobody reads any more go."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import DataFrame

from duolog_pipelines.delta import SparkTable

FILE_BYTES = 128 << 20
VACUUM_HOURS = 168
SMALL_FILES_MIN = 16
"""Fewer are left alone: each rewriting reads and writes everything again."""

Part = tuple[tuple[str, str], ...]
"""Of a table: the value of each column that it is partitioned by."""


class Tidied(NamedTuple):
    compacted: int
    """Files that became part of larger ones."""
    removed: int
    """Files that are not on disk any more."""


def crowded(files: Iterable[tuple[Part, int]], bytes_max: int) -> list[Part]:
    """Parts with many files that are smaller than half of what a file should have."""
    small = Counter(part for part, size in files if size < bytes_max // 2)
    return sorted(part for part, count in small.items() if count >= SMALL_FILES_MIN)


def tidy(table: SparkTable, bytes_max: int = FILE_BYTES, hours: int = VACUUM_HOURS) -> Tidied:
    """`hours`: how long those who read may go on with files that the table does not name now."""
    if not table.exists:
        return Tidied(0, 0)
    opened = table.opened()
    compacted = 0
    for part in crowded(_sizes(table), bytes_max):
        filters = [(name, "=", value) for name, value in part]
        done = opened.optimize.compact(filters or None, target_size=bytes_max)
        compacted += done["numFilesRemoved"]
    # Also what a run that was killed had staged: the table has never named it.
    removed = opened.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
    return Tidied(compacted, len(removed))


def replace_rows(table: SparkTable, frame: DataFrame, now_ms: int) -> None:
    """Put the rows in the place of those that are there."""
    before = [each.path for each in table.statistics()]
    table.commit([table.stage(frame)], now_ms, without=before)
    tidy(table)


def _sizes(table: SparkTable) -> Iterable[tuple[Part, int]]:
    for each in table.statistics():
        part = tuple((name, str(value)) for name, value in sorted(each.partition.items()))
        yield part, (table.path / each.path).stat().st_size
