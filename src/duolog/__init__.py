"""Duolog: a message queue on one append-only log, read with Kafka clients."""

__version__ = "0.1.0"
