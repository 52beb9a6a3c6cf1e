"""What a queue's configuration means to its delivery state."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeliveryRules:
    fifo: bool
    retention_ms: int
    in_flight_max: int
    """Most messages of one partition that may be in flight at the same time."""
    receive_count_max: int | None
    """A message that was received so often without being deleted is dead; None for never."""
