"""Queues whose partitions are led by several nodes: any node answers any request."""
