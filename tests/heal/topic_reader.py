"""Reads the offsets and keys of a topic from its start to its end."""

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from tests.heal.topic_ledger import Stored

SILENT_SECONDS_MAX = 20.0
RECORDS_PER_READ = 1_000
LOOK_SECONDS = 0.1
"""`consume` returns when it has as many records, or after so long."""


def read_stored(bootstrap: str, topic: str, partitions: int) -> list[list[Stored]]:
    """Of each partition, in the order of its log."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "judge",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    stored: list[list[Stored]] = [[] for _ in range(partitions)]
    left = set(range(partitions))
    try:
        consumer.assign([TopicPartition(topic, each, OFFSET_BEGINNING) for each in left])
        heard = time.monotonic()
        while left:
            records = consumer.consume(RECORDS_PER_READ, LOOK_SECONDS)
            now = time.monotonic()
            heard = now if records else heard
            assert now - heard < SILENT_SECONDS_MAX, f"{topic} cannot be read: {sorted(left)}"
            for record in records:
                partition = record.partition()
                assert partition is not None
                error = record.error()
                if error is None:
                    offset = record.offset()
                    assert offset is not None
                    stored[partition].append(Stored(offset, record.key() or b""))
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(partition)
        return stored
    finally:
        consumer.close()
