"""Where a consumer starts: the beginning, the end, a time, a committed or a chosen offset."""

import asyncio
import time

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPartition
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition
from tests.harness.drivers import confluent
from tests.harness.drivers.message import Message

SECONDS_MAX = 30.0
RECORDS = 20


@pytest.fixture
def base_ms(address: str, admin: AdminClient, topic: str) -> int:
    """The time of the first record of a topic with one record a second."""
    admin.create_topics([NewTopic(topic, 1)])[topic].result(10)
    base_ms = int(time.time() * 1000) - 60_000
    messages = [
        Message(value=b"%d" % each, timestamp=base_ms + each * 1000) for each in range(RECORDS)
    ]
    half = RECORDS // 2
    for part in (messages[:half], messages[half:]):
        confluent.produce(address, topic, part, compression="none")
    return base_ms


def test_confluent_reads_from_start_end_and_time(address: str, topic: str, base_ms: int) -> None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic})

    def first_at(offset: int) -> int | None:
        consumer.assign([TopicPartition(topic, 0, offset)])
        record = consumer.poll(SECONDS_MAX if offset != OFFSET_END else 0.5)
        return None if record is None else record.offset()

    assert first_at(OFFSET_BEGINNING) == 0
    assert first_at(OFFSET_END) is None
    assert first_at(13) == 13
    wanted = TopicPartition(topic, 0, base_ms + 12_500)
    (found,) = consumer.offsets_for_times([wanted], SECONDS_MAX)
    assert found.offset == 13
    wanted = TopicPartition(topic, 0, base_ms + 3_000)
    (found,) = consumer.offsets_for_times([wanted], SECONDS_MAX)
    assert found.offset == 3
    consumer.seek(TopicPartition(topic, 0, 5))
    record = consumer.poll(SECONDS_MAX)
    assert record is not None
    assert record.offset() == 5
    consumer.close()


async def test_aiokafka_reads_from_start_end_and_time(
    address: str, topic: str, base_ms: int
) -> None:
    partition = AioPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    await consumer.start()
    try:
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        assert (await asyncio.wait_for(consumer.getone(), SECONDS_MAX)).offset == 0
        await consumer.seek_to_end(partition)
        assert await consumer.getmany(timeout_ms=300) == {}
        found = await consumer.offsets_for_times({partition: base_ms + 12_500})
        assert found[partition].offset == 13
        consumer.seek(partition, found[partition].offset)
        assert (await asyncio.wait_for(consumer.getone(), SECONDS_MAX)).value == b"13"
    finally:
        await consumer.stop()


def test_kafka_python_reads_from_start_end_and_time(address: str, topic: str, base_ms: int) -> None:
    partition = PythonPartition(topic, 0)
    consumer = KafkaConsumer(bootstrap_servers=address, enable_auto_commit=False)
    try:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        assert next(consumer).offset == 0
        consumer.seek_to_end(partition)
        assert consumer.poll(timeout_ms=300) == {}
        found = consumer.offsets_for_times({partition: base_ms + 12_500})
        assert found[partition].offset == 13
        consumer.seek(partition, found[partition].offset)
        assert next(consumer).value == b"13"
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: RECORDS}
    finally:
        consumer.close()


@pytest.mark.usefixtures("base_ms")
def test_a_new_group_starts_where_auto_offset_reset_says(address: str, topic: str) -> None:
    def first(reset: str) -> object:
        consumer = Consumer(
            {
                "bootstrap.servers": address,
                "group.id": f"{topic}-{reset}",
                "auto.offset.reset": reset,
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        record = consumer.poll(SECONDS_MAX if reset != "latest" else 1.5)
        consumer.close()
        if record is None:
            return None
        return record.error().code() if record.error() else record.offset()

    assert first("earliest") == 0
    assert first("latest") is None
    assert first("error") == KafkaError._AUTO_OFFSET_RESET


@pytest.mark.usefixtures("base_ms")
async def test_a_new_group_of_aiokafka_starts_where_it_is_told_to(address: str, topic: str) -> None:
    async def first(reset: str, seconds_max: float) -> int | None:
        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=f"{topic}-aio-{reset}",
            auto_offset_reset=reset,
            enable_auto_commit=False,
        )
        async with consumer:
            try:
                return (await asyncio.wait_for(consumer.getone(), seconds_max)).offset
            except TimeoutError:
                return None

    assert await first("earliest", SECONDS_MAX) == 0
    assert await first("latest", 1.5) is None


@pytest.mark.usefixtures("base_ms")
def test_a_new_group_of_kafka_python_starts_where_it_is_told_to(address: str, topic: str) -> None:
    def first(reset: str, seconds_max: float) -> int | None:
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=address,
            group_id=f"{topic}-python-{reset}",
            auto_offset_reset=reset,
            enable_auto_commit=False,
            consumer_timeout_ms=int(seconds_max * 1000),
        )
        record = next(consumer, None)
        consumer.close()
        return None if record is None else record.offset

    assert first("earliest", SECONDS_MAX) == 0
    assert first("latest", 1.5) is None


@pytest.mark.usefixtures("base_ms")
async def test_aiokafka_resets_an_offset_out_of_range(address: str, topic: str) -> None:
    partition = AioPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=address, auto_offset_reset="earliest")
    async with consumer:
        consumer.assign([partition])
        consumer.seek(partition, RECORDS + 1_000)
        record = await asyncio.wait_for(consumer.getone(), SECONDS_MAX)
    assert record.offset == 0


@pytest.mark.usefixtures("base_ms")
def test_kafka_python_resets_an_offset_out_of_range(address: str, topic: str) -> None:
    partition = PythonPartition(topic, 0)
    consumer = KafkaConsumer(
        bootstrap_servers=address,
        auto_offset_reset="earliest",
        consumer_timeout_ms=int(SECONDS_MAX * 1000),
    )
    consumer.assign([partition])
    consumer.seek(partition, RECORDS + 1_000)
    record = next(consumer, None)
    consumer.close()
    assert record is not None
    assert record.offset == 0


@pytest.mark.usefixtures("base_ms")
def test_an_offset_out_of_range_is_reset(address: str, topic: str) -> None:
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.assign([TopicPartition(topic, 0, RECORDS + 1_000)])
    record = consumer.poll(SECONDS_MAX)
    assert record is not None
    assert record.offset() == 0
    consumer.close()


@pytest.mark.usefixtures("base_ms")
def test_a_group_goes_on_where_it_committed(address: str, topic: str, group: str) -> None:
    configuration = {
        "bootstrap.servers": address,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    for expected in (0, 5, 10):
        consumer = Consumer(configuration)
        consumer.subscribe([topic])
        for each in range(expected, expected + 5):
            record = consumer.poll(SECONDS_MAX)
            assert record is not None
            assert record.offset() == each
        consumer.commit(asynchronous=False)
        consumer.close()
