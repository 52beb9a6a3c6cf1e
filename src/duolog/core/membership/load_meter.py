"""Turns a node's counters since its start into rates. Pure."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from duolog.model.load import PARTITIONS_REPORTED_MAX, LoadReport, PartitionLoad


class PartitionTotals(NamedTuple):
    bytes: int
    requests: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Counters since the start, and gauges of this moment."""

    bytes_in: int = 0
    bytes_out: int = 0
    requests: int = 0
    partitions: Mapping[tuple[uuid.UUID, int], PartitionTotals] = field(default_factory=dict)
    """Counters of the partitions that the node leads now."""
    loop_lag_p99_ms: float = 0.0
    disk_free_bytes: int = -1


class LoadMeter:
    def __init__(self, node: int, totals: Totals, now_ms: int) -> None:
        self._node = node
        self._last = totals
        self._last_ms = now_ms

    def report(self, totals: Totals, now_ms: int) -> LoadReport:
        """Rates per second since the last report, on a monotonic clock."""
        seconds = max(1, now_ms - self._last_ms) / 1000
        last, self._last, self._last_ms = self._last, totals, now_ms
        busiest = sorted(
            (
                _partition_load(key, last.partitions.get(key, present), present, seconds)
                for key, present in totals.partitions.items()
            ),
            key=lambda load: (-load.bytes_per_s - load.requests_per_s, load.topic_id, load.index),
        )
        return LoadReport(
            node=self._node,
            bytes_in_per_s=(totals.bytes_in - last.bytes_in) / seconds,
            bytes_out_per_s=(totals.bytes_out - last.bytes_out) / seconds,
            requests_per_s=(totals.requests - last.requests) / seconds,
            loop_lag_p99_ms=totals.loop_lag_p99_ms,
            partitions_led=len(totals.partitions),
            disk_free_bytes=totals.disk_free_bytes,
            partitions=tuple(busiest[:PARTITIONS_REPORTED_MAX]),
        )


def _partition_load(
    key: tuple[uuid.UUID, int], last: PartitionTotals, present: PartitionTotals, seconds: float
) -> PartitionLoad:
    return PartitionLoad(
        *key,
        bytes_per_s=(present.bytes - last.bytes) / seconds,
        requests_per_s=(present.requests - last.requests) / seconds,
    )
