"""Usage: its keys, counters and sheets. Driven by broker/usage."""
