"""How a queue's topics are configured: that of its messages, and its journal.

Nothing in them expires by itself: the queue knows what is still needed (see upkeep.py).
"""

from duolog.config.queue import QueueConfig
from duolog.config.topic import TopicConfig

MESSAGE_SEGMENT_BYTES = 64 << 20
"""Small enough that the space of done messages soon comes back."""
MESSAGE_BYTES_MAX = 16 << 20
"""Of a batch: ten messages of SQS, or what a Kafka producer gathers."""
JOURNAL_SEGMENT_BYTES = 16 << 20
JOURNAL_BATCH_BYTES_MAX = 16 << 20

_KEPT = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


def message_overrides(config: QueueConfig) -> dict[str, str]:
    overrides = {
        **_KEPT,
        # Retention counts from when a message came, whatever a Kafka producer says.
        "message.timestamp.type": "LogAppendTime",
        "segment.bytes": str(MESSAGE_SEGMENT_BYTES),
        "max.message.bytes": str(MESSAGE_BYTES_MAX),
    }
    if config.durability is not None:
        overrides["durability"] = config.durability
    return overrides


def journal_overrides(messages: TopicConfig) -> dict[str, str]:
    """What becomes of a message is kept as safely as the message itself."""
    return {
        **_KEPT,
        "segment.bytes": str(JOURNAL_SEGMENT_BYTES),
        "max.message.bytes": str(JOURNAL_BATCH_BYTES_MAX),
        "durability": messages.durability,
        "min.insync.replicas": str(messages.min_insync_replicas),
    }
