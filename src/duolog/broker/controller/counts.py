"""Counters of a controller's work, for metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class ControllerCounts:
    terms: int = 0
    """Number of times this node was elected controller."""
    changes: int = 0
    """Number of partition states that it has changed."""
    elections: int = 0
    """Number of changes that elected a leader, perhaps the same one anew."""
    conflicts: int = 0
    """Number of transactions refused because something had changed meanwhile."""
    settlement_ms: float = 0.0
    """Duration of the last settlement that changed something, to its last transaction."""
