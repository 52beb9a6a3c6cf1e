"""How busy a node is, by its own measure: what the controller balances by."""

import uuid

import msgspec

PARTITIONS_REPORTED_MAX = 100
"""The busiest ones; the others have no say in who is overloaded."""


class PartitionLoad(msgspec.Struct, frozen=True):
    """What one partition costs the node that leads it."""

    topic_id: uuid.UUID
    index: int
    bytes_per_s: float
    """In and out."""
    requests_per_s: float


class LoadReport(msgspec.Struct, frozen=True):
    node: int
    bytes_in_per_s: float = 0.0
    bytes_out_per_s: float = 0.0
    requests_per_s: float = 0.0
    loop_lag_p99_ms: float = 0.0
    """How late the event loop is: the one figure that says that a core is used up."""
    partitions_led: int = 0
    disk_free_bytes: int = -1
    """-1 when it is not known."""
    partitions: tuple[PartitionLoad, ...] = ()
    """The busiest that it leads, busiest first."""

    @property
    def bytes_per_s(self) -> float:
        return self.bytes_in_per_s + self.bytes_out_per_s
