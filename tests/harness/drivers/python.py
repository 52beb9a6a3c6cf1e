"""kafka-python, which sends the newest versions of most requests."""

import time
from collections.abc import Sequence
from itertools import islice
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from kafka.structs import OffsetAndMetadata
from tests.harness.drivers.member import HEARTBEAT_MS, RECORDS_PER_COMMIT, SESSION_MS, GroupMember
from tests.harness.drivers.message import Message, Seen

NAME = "kafka-python"
SECONDS_MAX = 15.0
POLL_SECONDS = 0.05
REJOIN_MS = 10_000


def produce(
    address: str, topic: str, messages: Sequence[Message], *, compression: str, partition: int = 0
) -> None:
    producer = KafkaProducer(
        bootstrap_servers=address,
        enable_idempotence=True,
        compression_type=None if compression == "none" else compression,
        linger_ms=5,
    )
    try:
        sent = [
            producer.send(
                topic,
                message.value,
                message.key,
                partition=partition,
                timestamp_ms=message.timestamp,
                headers=list(message.headers),
            )
            for message in messages
        ]
        for future in sent:
            future.get(SECONDS_MAX)
    finally:
        producer.close(timeout=SECONDS_MAX)


def read(
    address: str, topic: str, count: int, *, isolation: str = "read_uncommitted"
) -> list[Seen]:
    """The first `count` records of partition 0."""
    consumer = KafkaConsumer(
        bootstrap_servers=address,
        auto_offset_reset="earliest",
        isolation_level=isolation,
        consumer_timeout_ms=SECONDS_MAX * 1000,
    )
    try:
        consumer.assign([TopicPartition(topic, 0)])
        seen = [_seen(record) for record in islice(consumer, count)]
        assert len(seen) == count, f"only {len(seen)} of {count} records came"
        return seen
    finally:
        consumer.close()


def _seen(record: Any) -> Seen:
    message = Message(record.key, record.value, tuple(record.headers), record.timestamp)
    return Seen(record.partition, record.offset, message)


class Member(GroupMember):
    def consume(self) -> None:
        consumer = KafkaConsumer(
            bootstrap_servers=self.address,
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            # It joins with whatever metadata it has; a leader that knew of no partition yet
            # gives out none until the next refresh, by default five minutes later.
            metadata_max_age_ms=1_000,
            # For so long the others wait for a member that does not join them again.
            max_poll_interval_ms=REJOIN_MS,
        )
        listener = _Listener(self, consumer)
        # Partitions that its leader hears of in the moment in which it gives them out are
        # never given out at all.
        while not (consumer.partitions_for_topic(self.topic) or self.stopping):
            time.sleep(POLL_SECONDS)
        consumer.subscribe([self.topic], listener=listener)
        while not self.stopping:
            found = consumer.poll(timeout_ms=100, max_records=RECORDS_PER_COMMIT)
            for partition, records in found.items():
                for record in records:
                    self.ledger.delivered(record.partition, record.offset, record.value)
                listener.pending[partition] = records[-1].offset + 1
            listener.commit(set(listener.pending))
        consumer.close()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, member: Member, consumer: KafkaConsumer) -> None:
        self._member = member
        self._consumer = consumer
        self.pending: dict[TopicPartition, int] = {}

    def commit(self, partitions: set[TopicPartition]) -> None:
        offsets = {each: self.pending.pop(each) for each in partitions & self.pending.keys()}
        if offsets:
            self._consumer.commit(
                {each: OffsetAndMetadata(offset, "", -1) for each, offset in offsets.items()}
            )
            self._member.ledger.committed(
                {each.partition: offset for each, offset in offsets.items()}
            )

    def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        self.commit(revoked)
        self._member.assigned = set()

    def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._member.assigned = {each.partition for each in assigned}
