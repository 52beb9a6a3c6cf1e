"""What a controller counts of its work, for metrics."""

from dataclasses import dataclass


@dataclass(slots=True)
class ControllerCounts:
    terms: int = 0
    """How often this node was elected controller."""
    changes: int = 0
    """How many states of partitions it has changed."""
    elections: int = 0
    """How many of those gave a partition another leader, or the same one anew."""
    conflicts: int = 0
    """How many transactions were refused because something had changed meanwhile."""
    settlement_ms: float = 0.0
    """How long the last settlement that changed something took, to its last transaction."""
