"""States of a group, spelled as Kafka's tools show them."""

from enum import Enum
from typing import NamedTuple


class GroupState(Enum):
    EMPTY = "Empty"
    """No members; committed offsets may be left."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waits for the members to join again."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """All have joined; waits for the leader's assignment to arrive and be durable."""
    STABLE = "Stable"
    DEAD = "Dead"
    """Absent: shown for a group that is unknown or gone."""


class Moment(NamedTuple):
    """One reading of both clocks, passed in with every event."""

    monotonic_ms: int
    """Monotonic time, for deadlines."""
    wall_ms: int
    """Wall-clock time, stamped on records and compared with retention."""
