"""The operators' HTTP API: health, metrics, usage, the node's queues and its cluster."""
