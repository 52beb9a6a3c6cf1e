"""IO around core/groups: parked requests, the timer, durable writes."""
