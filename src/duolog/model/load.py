"""Load of a node by its own measure, on which the controller bases leader balance."""

import uuid

import msgspec

PARTITIONS_REPORTED_MAX = 100
"""Number of partitions reported, the busiest; the others do not count towards overload."""


class PartitionLoad(msgspec.Struct, frozen=True):
    """Load that one partition puts on the node that leads it."""

    topic_id: uuid.UUID
    index: int
    bytes_per_s: float
    """Bytes in and out."""
    requests_per_s: float


class LoadReport(msgspec.Struct, frozen=True):
    node: int
    bytes_in_per_s: float = 0.0
    bytes_out_per_s: float = 0.0
    requests_per_s: float = 0.0
    loop_lag_p99_ms: float = 0.0
    """99th percentile of the event loop's lag: the one figure that shows an exhausted core."""
    partitions_led: int = 0
    disk_free_bytes: int = -1
    """Free bytes; -1 if unknown."""
    partitions: tuple[PartitionLoad, ...] = ()
    """Busiest partitions that it leads, busiest first."""

    @property
    def bytes_per_s(self) -> float:
        return self.bytes_in_per_s + self.bytes_out_per_s
