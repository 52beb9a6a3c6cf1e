"""Routing for queues whose partitions several nodes lead: any node answers any request."""
