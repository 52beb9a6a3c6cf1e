"""Duolog: one replicated log, read as an SQS queue or as a Kafka topic."""

__version__ = "0.1.0"
