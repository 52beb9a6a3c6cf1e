"""Estimate of the CPU time that the next leader needs to read what a snapshot would spare it.

The prices were measured on a machine of 2 cores; a slower one takes longer for everything.
"""

from duolog.broker.queues.queue_partition import QueuePartition

MESSAGE_NS = 3_000
GROUPED_MESSAGE_NS = 6_000
"""Price of a message of a FIFO queue, its deduplication key included."""
JOURNAL_BYTE_NS = 60
"""Price of a byte of the journal: a record has some 120, and 8 for each further message."""
IMAGE_BYTE_NS = 10


def tail_ns(partition: QueuePartition) -> int:
    """CPU time for messages and changes since the last snapshot."""
    messages, journal_bytes = partition.tail
    message_ns = GROUPED_MESSAGE_NS if partition.delivery.rules.fifo else MESSAGE_NS
    return messages * message_ns + journal_bytes * JOURNAL_BYTE_NS


def image_ns(partition: QueuePartition) -> int:
    """CPU time for the last snapshot itself."""
    return 0 if partition.journal is None else partition.journal.snapshot_bytes * IMAGE_BYTE_NS
