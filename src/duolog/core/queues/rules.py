"""Rules that a queue's attributes set for its delivery state."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeliveryRules:
    fifo: bool
    retention_ms: int
    in_flight_max: int
    """Limit of messages of one partition that are in flight at the same time."""
    receive_count_max: int | None
    """Receives without a delete after which a message is dead; None for no limit."""
