"""Queues: topics whose messages are handed out, hidden, and deleted one by one."""
