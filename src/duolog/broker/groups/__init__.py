"""The shell around core/groups: waiting requests, the one timer, durable writes."""
