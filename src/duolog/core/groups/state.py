"""The states of a group, spelled as Kafka's tools show them."""

from enum import Enum
from typing import NamedTuple


class GroupState(Enum):
    EMPTY = "Empty"
    """No members; committed offsets may be left."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """Waiting for the members to join again."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """Everybody has joined; waiting for the leader's assignment to arrive and be durable."""
    STABLE = "Stable"
    DEAD = "Dead"
    """Not there: what is shown for a group that is unknown or gone."""


class Moment(NamedTuple):
    """One reading of both clocks, handed in with every event."""

    monotonic_ms: int
    """For deadlines."""
    wall_ms: int
    """Stamped on records and compared with retention."""
