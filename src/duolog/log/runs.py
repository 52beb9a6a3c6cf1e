"""Splits staged batches into runs, each for one segment."""

from collections.abc import Sequence
from typing import NamedTuple

from duolog.log.segment import Segment
from duolog.log.walk import SEGMENT_OFFSETS_MAX
from duolog.records.header import BatchHeader


class Run(NamedTuple):
    base_offset: int | None
    """Base offset of the new segment that the run begins; None if it goes to the active one."""
    batches: list[memoryview]
    headers: list[BatchHeader]


def plan_runs(
    active: Segment,
    batches: Sequence[memoryview],
    headers: Sequence[BatchHeader],
    *,
    segment_bytes: int,
    is_aged: bool,
) -> list[Run]:
    """Runs in order. A batch larger than the largest segment size still gets one, of its own."""
    runs: list[Run] = []
    base_offset, size = active.base_offset, active.size
    offset = active.end_offset
    for batch, header in zip(batches, headers, strict=True):
        next_offset = offset + header.last_offset_delta + 1
        if size > 0 and (
            size + len(batch) > segment_bytes
            or next_offset - base_offset > SEGMENT_OFFSETS_MAX
            or (is_aged and not runs)
        ):
            runs.append(Run(offset, [], []))
            base_offset, size = offset, 0
        elif not runs:
            runs.append(Run(None, [], []))
        runs[-1].batches.append(batch)
        runs[-1].headers.append(header)
        size += len(batch)
        offset = next_offset
    return runs
