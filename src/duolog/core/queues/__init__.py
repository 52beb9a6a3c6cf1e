"""Queues: which message goes to whom, until when it is hidden, and when it is done. Pure."""
