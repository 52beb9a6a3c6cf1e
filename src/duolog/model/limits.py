"""Fixed limits. Limits that an operator may change are settings instead (see config/)."""

TOPIC_NAME_CHARS_MAX = 249
"""Kafka's limit: the directory `<name>-<partition>` must stay below 255 bytes."""

QUEUE_NAME_CHARS_MAX = 80
"""SQS's limit, the suffix of a FIFO queue included."""

PARTITIONS_PER_TOPIC_MAX = 10_000

PRODUCER_BATCHES_REMEMBERED = 5
"""Number of batches per producer and partition that are recognised as duplicates, as in Kafka."""

ARRAY_ITEMS_MAX = 100_000
"""Limit of items that all arrays of one request may declare together."""

OFFSET_METADATA_BYTES_MAX = 4_096
"""Limit of metadata that a group commits with one offset."""

PRODUCERS_PER_PARTITION_MAX = 100_000
"""Limit of idempotent producers that a partition remembers; beyond it the oldest are forgotten."""

TIMESTAMP_MS_MAX = (1 << 63) - 1

RECORDS_PER_BATCH_MAX = 4_000_000
"""Limit of records that a compressed batch may declare: its count is trusted without opening it."""

GROUP_TEXT_BYTES_MAX = 4_096
"""Limit of a name in a group (its id, an instance id, a protocol): stored with 16-bit lengths."""

CLIENT_ID_CHARS_IN_MEMBER_ID_MAX = 255
"""Characters of a client's own name that become part of the member id that it is given."""

REBALANCE_AWAITED_MS_MAX = 60_000
"""Longest time for which a group's rebalance keeps its coordinator from being moved."""

STORED_BATCH_OPENED_BYTES_MAX = 128 << 20
"""Limit of a stored batch's decompressed size when the log opens it to search or compact."""
