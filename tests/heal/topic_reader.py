"""Reads the offsets and keys of a topic from its start to its end."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from tests.heal.topic_ledger import Stored

SILENT_SECONDS_MAX = 20.0
RECORDS_PER_READ = 1_000


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
        while left:
            records = consumer.consume(RECORDS_PER_READ, SILENT_SECONDS_MAX)
            assert records, f"nothing to read any more of {topic}: {sorted(left)} have not ended"
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
