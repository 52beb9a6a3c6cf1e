"""What topics take and refuse, as a client notices it."""

import time

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import (
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
)
from confluent_kafka import TopicPartition as Partition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaProducer
from kafka.errors import MessageSizeTooLargeError, TransactionalIdAuthorizationFailedError
from tests.harness.drivers import aio, confluent, python
from tests.harness.drivers.message import Message

SECONDS_MAX = 30.0
MESSAGE_BYTES_MAX = 1_048_588
BATCH_OVERHEAD_BYTES = 100


def create(admin: AdminClient, topic: str, **config: object) -> None:
    dotted = {name.replace("_", "."): str(value) for name, value in config.items()}
    admin.create_topics([NewTopic(topic, 1, config=dotted)])[topic].result(SECONDS_MAX)


def send(
    address: str, topic: str, value: bytes | None, key: bytes | None = None
) -> KafkaError | None:
    """Produce one record; the error that came back."""
    producer = Producer({"bootstrap.servers": address, "message.max.bytes": 10_000_000})
    errors: list[KafkaError | None] = []
    producer.produce(topic, value, key, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(SECONDS_MAX) == 0
    return errors[0]


def test_a_topic_is_made_when_it_is_first_used(address: str, admin: AdminClient) -> None:
    assert send(address, "made-by-confluent", b"x") is None
    python.produce(address, "made-by-kafka-python", [Message(value=b"x")], compression="none")
    aio.produce(address, "made-by-aiokafka", [Message(value=b"x")], compression="none")
    topics = admin.list_topics(timeout=SECONDS_MAX).topics
    assert {"made-by-confluent", "made-by-kafka-python", "made-by-aiokafka"} <= topics.keys()


def test_a_consumer_does_not_make_a_topic_unless_it_says_so(
    address: str, admin: AdminClient, topic: str
) -> None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic})
    consumer.subscribe([topic])
    record = consumer.poll(SECONDS_MAX)
    consumer.close()
    assert record is not None
    assert record.error().code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert topic not in admin.list_topics(timeout=SECONDS_MAX).topics


def test_a_message_as_large_as_allowed_is_taken(
    address: str, admin: AdminClient, topic: str
) -> None:
    create(admin, topic)
    value = bytes(MESSAGE_BYTES_MAX - BATCH_OVERHEAD_BYTES)
    assert send(address, topic, value) is None
    (seen,) = confluent.read(address, topic, 1)
    assert seen.message.value == value


def test_a_message_that_is_too_large_is_refused_as_such(
    address: str, admin: AdminClient, topic: str
) -> None:
    create(admin, topic)
    error = send(address, topic, bytes(MESSAGE_BYTES_MAX))
    assert error is not None
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE
    assert send(address, topic, b"small") is None
    (seen,) = confluent.read(address, topic, 1)
    assert seen.message.value == b"small"


def test_a_topic_has_its_own_limit(address: str, admin: AdminClient, topic: str) -> None:
    create(admin, topic, max_message_bytes=2_000_000)
    assert send(address, topic, bytes(1_900_000)) is None
    small = f"{topic}-small"
    create(admin, small, max_message_bytes=1_000)
    producer = KafkaProducer(bootstrap_servers=address)
    with pytest.raises(MessageSizeTooLargeError):
        producer.send(small, bytes(2_000)).get(SECONDS_MAX)
    producer.close()


async def test_aiokafka_is_told_that_a_message_is_too_large(
    address: str, admin: AdminClient, topic: str
) -> None:
    from aiokafka.errors import MessageSizeTooLargeError as TooLarge

    create(admin, topic, max_message_bytes=1_000)
    async with AIOKafkaProducer(bootstrap_servers=address) as producer:
        with pytest.raises(TooLarge):
            await producer.send_and_wait(topic, bytes(2_000))
        await producer.send_and_wait(topic, b"small")


@pytest.mark.parametrize("driver", [confluent, aio, python], ids=lambda driver: driver.NAME)
def test_read_committed_consumers_read_everything_there_is(
    address: str, admin: AdminClient, topic: str, driver: object
) -> None:
    create(admin, topic)
    now_ms = int(time.time() * 1000)
    messages = [Message(value=b"%d" % each, timestamp=now_ms + each) for each in range(10)]
    confluent.produce(address, topic, messages, compression="lz4")
    seen = driver.read(address, topic, 10, isolation="read_committed")  # type: ignore[attr-defined]
    assert [each.message for each in seen] == messages


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_records_of_a_log_append_time_topic_have_the_time_of_their_arrival(
    address: str, admin: AdminClient, topic: str, codec: str
) -> None:
    create(admin, topic, message_timestamp_type="LogAppendTime")
    before_ms = int(time.time() * 1000)
    messages = [Message(value=b"%d" % each, timestamp=1_000) for each in range(10)]
    confluent.produce(address, topic, messages, compression=codec)
    after_ms = int(time.time() * 1000)
    for reader in (confluent, aio, python):
        seen = reader.read(address, topic, len(messages))
        assert [each.message.value for each in seen] == [each.value for each in messages]
        assert all(before_ms <= each.message.timestamp <= after_ms for each in seen), reader.NAME
    consumer = Consumer({"bootstrap.servers": address, "group.id": topic})
    consumer.assign([Partition(topic, 0, 0)])
    record = consumer.poll(SECONDS_MAX)
    assert record is not None
    assert record.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME
    consumer.close()


def test_a_compacted_topic_refuses_records_without_a_key(
    address: str, admin: AdminClient, topic: str
) -> None:
    create(admin, topic, cleanup_policy="compact")
    assert send(address, topic, b"v", b"k") is None
    assert send(address, topic, None, b"k") is None
    error = send(address, topic, b"v")
    assert error is not None
    assert error.code() == KafkaError.INVALID_RECORD


def test_a_timestamp_too_far_ahead_is_refused(address: str, admin: AdminClient, topic: str) -> None:
    create(admin, topic)
    producer = Producer({"bootstrap.servers": address})
    errors: list[KafkaError | None] = []
    producer.produce(
        topic,
        b"x",
        timestamp=int(time.time() * 1000) + 7_200_000,
        on_delivery=lambda error, _: errors.append(error),
    )
    assert producer.flush(SECONDS_MAX) == 0
    assert errors[0] is not None
    assert errors[0].code() == KafkaError.INVALID_TIMESTAMP


def test_transactions_are_refused_at_once(address: str) -> None:
    producer = Producer({"bootstrap.servers": address, "transactional.id": "t"})
    with pytest.raises(KafkaException) as failure:
        producer.init_transactions(SECONDS_MAX)
    assert failure.value.args[0].code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    python_producer = KafkaProducer(bootstrap_servers=address, transactional_id="t")
    with pytest.raises(TransactionalIdAuthorizationFailedError):
        python_producer.init_transactions()
    python_producer.close(timeout=1)
