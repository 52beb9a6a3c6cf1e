"""Which parts of the archive have so many small files that they are worth rewriting. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from duolog_pipelines.delta import Statistics

SMALL_FILES_MIN = 16
"""Fewer are left alone: each rewriting reads and writes everything again."""


class Part(NamedTuple):
    topic: str
    date: str


def part_of(file: Statistics) -> Part:
    return Part(str(file.partition["topic"]), str(file.partition["date"]))


def crowded(files: Iterable[tuple[Statistics, int]], bytes_max: int) -> list[Part]:
    """Parts with many files that are smaller than half of what a file should have."""
    counts: dict[Part, int] = {}
    for each, size in files:
        if size < bytes_max // 2:
            part = part_of(each)
            counts[part] = counts.get(part, 0) + 1
    return sorted(part for part, count in counts.items() if count >= SMALL_FILES_MIN)
