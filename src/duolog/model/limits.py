"""Fixed maxima. Limits that an operator may move are settings instead (see config/)."""

TOPIC_NAME_CHARS_MAX = 249
"""As Kafka: the directory `<name>-<partition>` must stay below 255 bytes."""

PARTITIONS_PER_TOPIC_MAX = 10_000

PRODUCER_BATCHES_REMEMBERED = 5
"""How many batches per producer and partition are recognised as duplicates, as in Kafka."""

ARRAY_ITEMS_MAX = 100_000
"""Most items that any array of a request may declare."""

OFFSET_METADATA_BYTES_MAX = 4_096
"""Most metadata that a group may commit beside one offset."""
