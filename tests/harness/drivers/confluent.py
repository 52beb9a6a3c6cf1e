"""confluent-kafka, which is librdkafka."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from tests.harness.drivers.member import HEARTBEAT_MS, RECORDS_PER_COMMIT, SESSION_MS, GroupMember
from tests.harness.drivers.message import Message, Seen

NAME = "confluent-kafka"
SECONDS_MAX = 15.0


def produce(
    address: str, topic: str, messages: Sequence[Message], *, compression: str, partition: int = 0
) -> None:
    producer = Producer(
        {
            "bootstrap.servers": address,
            "enable.idempotence": True,
            "compression.type": compression,
            "linger.ms": 5,
        }
    )
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            failures.append(error)

    for message in messages:
        producer.produce(
            topic,
            message.value,
            message.key,
            partition=partition,
            timestamp=message.timestamp,
            headers=list(message.headers),
            on_delivery=delivered,
        )
    assert producer.flush(SECONDS_MAX) == 0
    assert not failures, failures


def read(
    address: str, topic: str, count: int, *, isolation: str = "read_uncommitted"
) -> list[Seen]:
    """The first `count` records of partition 0."""
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": "reader", "isolation.level": isolation}
    )
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        seen: list[Seen] = []
        while len(seen) < count:
            batch = consumer.consume(count - len(seen), SECONDS_MAX)
            assert batch, f"only {len(seen)} of {count} records came"
            seen += map(_seen, batch)
        return seen
    finally:
        consumer.close()


def _seen(record: Any) -> Seen:
    assert record.error() is None, record.error()
    headers = tuple((name, value) for name, value in record.headers() or ())
    message = Message(record.key(), record.value(), headers, record.timestamp()[1])
    return Seen(record.partition(), record.offset(), message)


class Member(GroupMember):
    strategy = "range"
    retriable_codes: tuple[int, ...] = ()

    def consume(self) -> None:
        self._pending: dict[int, int] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": self.address,
                "group.id": self.group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": self.strategy,
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": HEARTBEAT_MS,
            }
        )
        self._consumer.subscribe([self.topic], on_assign=self._on_assign, on_revoke=self._on_revoke)
        while not self.stopping:
            record = self._consumer.poll(0.1)
            if record is not None:
                seen = _seen(record)
                self.ledger.delivered(seen.partition, seen.offset, seen.message.value)
                self._pending[seen.partition] = seen.offset + 1
            if record is None or seen.offset % RECORDS_PER_COMMIT == 0:
                self._commit(set(self._pending))
        self._commit(set(self._pending))
        self._consumer.close()

    def _commit(self, partitions: set[int]) -> None:
        offsets = {each: self._pending.pop(each) for each in partitions & self._pending.keys()}
        if not offsets:
            return
        wanted = [TopicPartition(self.topic, *position) for position in offsets.items()]
        try:
            self._consumer.commit(offsets=wanted, asynchronous=False)
        except KafkaException as failure:
            # A cooperative member reads on while the group changes, and may commit for a
            # generation that has just ended. It keeps its partitions and commits them later.
            if failure.args[0].code() not in self.retriable_codes:
                raise
            self._pending = offsets | self._pending
            return
        self.ledger.committed(offsets)

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assigned = self.assigned | {each.partition for each in partitions}

    def _on_revoke(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        revoked = {each.partition for each in partitions}
        self._commit(revoked)
        for each in revoked:
            self._pending.pop(each, None)
        self.assigned = self.assigned - revoked


class CooperativeMember(Member):
    strategy = "cooperative-sticky"
    retriable_codes = (KafkaError.ILLEGAL_GENERATION, KafkaError.REBALANCE_IN_PROGRESS)
