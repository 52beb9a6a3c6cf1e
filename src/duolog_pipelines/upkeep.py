"""Upkeep of Delta tables: compacts small files, and removes files that no reader needs."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import DataFrame

from duolog_pipelines.delta import SparkTable

FILE_BYTES = 128 << 20
VACUUM_HOURS = 168
SMALL_FILES_MIN = 16
"""Number of small files from which on they are compacted, as each compaction rewrites them all."""

Part = tuple[tuple[str, str], ...]
"""A partition of a table: the value of each column that it is partitioned by."""


class Tidied(NamedTuple):
    compacted: int
    """Files merged into larger ones."""
    removed: int
    """Files deleted from disk."""


def crowded(files: Iterable[tuple[Part, int]], bytes_max: int) -> list[Part]:
    """Partitions with many files smaller than half of the target size."""
    small = Counter(part for part, size in files if size < bytes_max // 2)
    return sorted(part for part, count in small.items() if count >= SMALL_FILES_MIN)


def tidy(table: SparkTable, bytes_max: int = FILE_BYTES, hours: int = VACUUM_HOURS) -> Tidied:
    """Compact and vacuum. `hours`: time for which readers may go on using files that the table no
    longer names."""
    if not table.exists:
        return Tidied(0, 0)
    opened = table.opened()
    compacted = 0
    for part in crowded(_sizes(table), bytes_max):
        filters = [(name, "=", value) for name, value in part]
        done = opened.optimize.compact(filters or None, target_size=bytes_max)
        compacted += done["numFilesRemoved"]
    # Also removes files staged by a killed run, which the table has never named.
    removed = opened.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True)
    return Tidied(compacted, len(removed))


def replace_rows(table: SparkTable, frame: DataFrame, now_ms: int) -> None:
    """Replace all rows of the table."""
    before = [each.path for each in table.statistics()]
    table.commit([table.stage(frame)], now_ms, without=before)
    tidy(table)


def _sizes(table: SparkTable) -> Iterable[tuple[Part, int]]:
    for each in table.statistics():
        part = tuple((name, str(value)) for name, value in sorted(each.partition.items()))
        yield part, (table.path / each.path).stat().st_size
