"""Reads what a NumberedLoad has written, through a cluster, and proves that all of it is there."""

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from tests.harness.load import payload

SILENT_SECONDS_MAX = 20.0


def check_numbered_through(bootstrap: str, topic: str, acknowledged: list[int]) -> None:
    """Each partition holds exactly the numbers 0, 1, 2, … up to what was acknowledged."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "checker",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 0,
        }
    )
    try:
        places = [
            TopicPartition(topic, each, OFFSET_BEGINNING) for each in range(len(acknowledged))
        ]
        consumer.assign(places)
        seen = [0] * len(acknowledged)
        ended: set[int] = set()
        while len(ended) < len(acknowledged):
            record = consumer.poll(SILENT_SECONDS_MAX)
            assert record is not None, f"nothing to read any more: {seen} of {acknowledged}"
            partition = record.partition()
            assert partition is not None
            error = record.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                ended.add(partition)
                continue
            ended.discard(partition)
            assert record.key() == b"%d" % seen[partition], "out of order, lost or repeated"
            assert record.value() == payload(partition, seen[partition])
            seen[partition] += 1
        assert all(map(int.__ge__, seen, acknowledged)), f"{seen} of {acknowledged}"
    finally:
        consumer.close()
