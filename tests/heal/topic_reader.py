"""Reads the keys of a topic from its start to its end."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

SILENT_SECONDS_MAX = 20.0
RECORDS_PER_READ = 1_000


def read_keys(bootstrap: str, topic: str, partitions: int) -> list[list[bytes]]:
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
    keys: list[list[bytes]] = [[] for _ in range(partitions)]
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
                    keys[partition].append(record.key() or b"")
                elif error.code() == KafkaError._PARTITION_EOF:
                    left.discard(partition)
        return keys
    finally:
        consumer.close()
