"""Fixed maxima. Limits that an operator may move are settings instead (see config/)."""

TOPIC_NAME_CHARS_MAX = 249
"""As Kafka: the directory `<name>-<partition>` must stay below 255 bytes."""

QUEUE_NAME_CHARS_MAX = 80
"""As SQS, with the suffix of a FIFO queue."""

PARTITIONS_PER_TOPIC_MAX = 10_000

PRODUCER_BATCHES_REMEMBERED = 5
"""How many batches per producer and partition are recognised as duplicates, as in Kafka."""

ARRAY_ITEMS_MAX = 100_000
"""Most items that the arrays of one request may declare, all together."""

OFFSET_METADATA_BYTES_MAX = 4_096
"""Most metadata that a group may commit beside one offset."""

PRODUCERS_PER_PARTITION_MAX = 100_000
"""Idempotent producers that a partition remembers; past it the oldest is forgotten."""

TIMESTAMP_MS_MAX = (1 << 63) - 1

RECORDS_PER_BATCH_MAX = 4_000_000
"""Most records that a compressed batch may declare: its count is believed without opening it."""

GROUP_TEXT_BYTES_MAX = 4_096
"""Longest name in a group (its id, an instance id, a protocol): stored with 16-bit lengths."""

CLIENT_ID_CHARS_IN_MEMBER_ID_MAX = 255
"""How much of a client's own name becomes part of the member id that it is given."""

STORED_BATCH_OPENED_BYTES_MAX = 128 << 20
"""Most that one stored batch may become when the log itself opens it, to search or compact."""
