"""aiokafka, which sends the oldest versions of most requests."""

import asyncio
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from tests.harness.drivers.member import HEARTBEAT_MS, RECORDS_PER_COMMIT, SESSION_MS, GroupMember
from tests.harness.drivers.message import Message, Seen

NAME = "aiokafka"
SECONDS_MAX = 15.0


def produce(
    address: str, topic: str, messages: Sequence[Message], *, compression: str, partition: int = 0
) -> None:
    asyncio.run(_produce(address, topic, messages, compression, partition))


async def _produce(
    address: str, topic: str, messages: Sequence[Message], compression: str, partition: int
) -> None:
    producer = AIOKafkaProducer(
        bootstrap_servers=address,
        enable_idempotence=True,
        compression_type=None if compression == "none" else compression,
        linger_ms=5,
    )
    await producer.start()
    try:
        sent = [
            await producer.send(
                topic,
                message.value,
                message.key,
                partition=partition,
                timestamp_ms=message.timestamp,
                headers=list(message.headers),
            )
            for message in messages
        ]
        await asyncio.wait_for(asyncio.gather(*sent), SECONDS_MAX)
    finally:
        await producer.stop()


def read(
    address: str, topic: str, count: int, *, isolation: str = "read_uncommitted"
) -> list[Seen]:
    """The first `count` records of partition 0."""
    return asyncio.run(_read(address, topic, count, isolation))


async def _read(address: str, topic: str, count: int, isolation: str) -> list[Seen]:
    consumer = AIOKafkaConsumer(
        bootstrap_servers=address,
        auto_offset_reset="earliest",
        isolation_level=isolation,
        enable_auto_commit=False,
    )
    await consumer.start()
    try:
        consumer.assign([TopicPartition(topic, 0)])
        return [_seen(await asyncio.wait_for(consumer.getone(), SECONDS_MAX)) for _ in range(count)]
    finally:
        await consumer.stop()


def _seen(record: Any) -> Seen:
    message = Message(record.key, record.value, tuple(record.headers), record.timestamp)
    return Seen(record.partition, record.offset, message)


class Member(GroupMember):
    def consume(self) -> None:
        asyncio.run(self._consume())

    async def _consume(self) -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.address,
            group_id=self.group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            session_timeout_ms=SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
        )
        listener = _Listener(self, consumer)
        await consumer.start()
        try:
            consumer.subscribe([self.topic], listener=listener)
            while not self.stopping:
                found = await consumer.getmany(timeout_ms=100, max_records=RECORDS_PER_COMMIT)
                async with listener.busy:
                    for partition, records in found.items():
                        if partition not in consumer.assignment():
                            continue
                        for record in records:
                            self.ledger.delivered(record.partition, record.offset, record.value)
                        listener.pending[partition] = records[-1].offset + 1
                    await listener.commit(set(listener.pending))
        finally:
            await consumer.stop()


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, member: Member, consumer: AIOKafkaConsumer) -> None:
        self._member = member
        self._consumer = consumer
        self.busy = asyncio.Lock()
        """Noting a batch and committing it must not be interrupted by a rebalance."""
        self.pending: dict[TopicPartition, int] = {}

    async def commit(self, partitions: set[TopicPartition]) -> None:
        offsets = {each: self.pending.pop(each) for each in partitions & self.pending.keys()}
        if offsets:
            await self._consumer.commit(offsets)
            self._member.ledger.committed(
                {each.partition: offset for each, offset in offsets.items()}
            )

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        async with self.busy:
            await self.commit(revoked)
        self._member.assigned = set()

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        self._member.assigned = {each.partition for each in assigned}
