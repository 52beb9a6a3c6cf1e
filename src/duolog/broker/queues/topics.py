"""Configuration of a queue's topics: the one of its messages, and its journal.

Nothing in them expires by itself: the queue knows which records it needs (see upkeep.py).
"""

from duolog.config.queue import QueueConfig
from duolog.config.topic import TopicConfig

MESSAGE_SEGMENT_BYTES = 64 << 20
"""Segment size of messages; small, so that the space of done messages is soon reclaimed."""
MESSAGE_BYTES_MAX = 16 << 20
"""Maximum size of a batch: ten SQS messages, or a Kafka producer's batch."""
JOURNAL_SEGMENT_BYTES = 16 << 20
JOURNAL_BATCH_BYTES_MAX = 16 << 20

_KEPT = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


def message_overrides(config: QueueConfig) -> dict[str, str]:
    overrides = {
        **_KEPT,
        # Retention counts from a message's arrival, whatever timestamp a Kafka producer sets.
        "message.timestamp.type": "LogAppendTime",
        "segment.bytes": str(MESSAGE_SEGMENT_BYTES),
        "max.message.bytes": str(MESSAGE_BYTES_MAX),
    }
    if config.durability is not None:
        overrides["durability"] = config.durability
    return overrides


def journal_overrides(messages: TopicConfig) -> dict[str, str]:
    """Overrides of the journal's topic, which make it as durable as the messages."""
    return {
        **_KEPT,
        "segment.bytes": str(JOURNAL_SEGMENT_BYTES),
        "max.message.bytes": str(JOURNAL_BATCH_BYTES_MAX),
        "durability": messages.durability,
        "min.insync.replicas": str(messages.min_insync_replicas),
    }
