"""One message, two doors: what one protocol puts in, the other takes out."""

from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from tests.harness.drivers import aio, confluent, python
from tests.harness.drivers.message import Message
from tests.harness.node import Node
from tests.harness.sqs import Queue, client, eventually, new_name

SECONDS_MAX = 30.0
WAKE_SECONDS_MAX = 15.0
"""Less than a long poll takes by itself."""

BINARY = bytes([0, 255, 1, 254])


@pytest.fixture
def queue(modern_sqs: Any) -> Queue:
    return Queue.create(modern_sqs)


def produce(address: str, topic: str, messages: list[Message]) -> None:
    confluent.produce(address, topic, messages, compression="lz4")


def own_headers(message: Message) -> dict[str, bytes | None]:
    """Those that the sender gave, without what Duolog notes for itself."""
    return {name: value for name, value in message.headers if not name.startswith("duolog.")}


@pytest.mark.parametrize("driver", [confluent, aio, python], ids=lambda driver: driver.NAME)
def test_what_is_sent_to_a_queue_is_read_as_a_topic(
    queue: Queue, address: str, driver: Any
) -> None:
    attributes = {
        "colour": {"DataType": "String", "StringValue": "grün"},
        "count": {"DataType": "Number", "StringValue": "12"},
        "raw": {"DataType": "Binary", "BinaryValue": BINARY},
    }
    queue.send("first", MessageAttributes=attributes)
    queue.send_all(["zwöi", "third"])
    seen = driver.read(address, queue.name, 3)
    assert [each.message.value for each in seen] == [b"first", "zwöi".encode(), b"third"]
    assert own_headers(seen[0].message) == {
        "colour": "grün".encode(),
        "count": b"12",
        "raw": BINARY,
    }
    assert own_headers(seen[1].message) == {}
    found = queue.receive(3)
    assert [message["Body"] for message in found] == ["first", "zwöi", "third"]
    sent_ms = [int(message["Attributes"]["SentTimestamp"]) for message in found]
    assert [each.message.timestamp for each in seen] == sent_ms


def test_reading_a_queue_as_a_topic_takes_nothing_from_it(queue: Queue, address: str) -> None:
    queue.send("x")
    confluent.read(address, queue.name, 1)
    assert queue.counts() == (1, 0, 0)
    queue.delete(queue.receive_one())
    (seen,) = confluent.read(address, queue.name, 1)
    assert seen.message.value == b"x"


@pytest.mark.parametrize("driver", [confluent, aio, python], ids=lambda driver: driver.NAME)
def test_what_a_kafka_client_produces_is_received_from_the_queue(
    queue: Queue, address: str, driver: Any
) -> None:
    messages = [
        Message(
            value=f"Nachricht {each} ü".encode(),
            headers=(("n", b"%d" % each), ("text", "ü".encode())),
        )
        for each in range(25)
    ]
    driver.produce(address, queue.name, messages, compression="gzip")
    found = []
    while len(found) < 25:
        found += queue.receive(WaitTimeSeconds=2)
    assert [message["Body"] for message in found] == [f"Nachricht {each} ü" for each in range(25)]
    assert found[7]["MessageAttributes"] == {
        "n": {"DataType": "String", "StringValue": "7"},
        "text": {"DataType": "String", "StringValue": "ü"},
    }
    assert len({message["MessageId"] for message in found}) == 25
    for message in found:
        queue.delete(message)
    assert queue.counts() == (0, 0, 0)


def test_a_kafka_producer_wakes_a_long_poll(queue: Queue, address: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.receive_one, WaitTimeSeconds=20)
        produce(address, queue.name, [Message(value=b"woken")])
        assert waiting.result(WAKE_SECONDS_MAX)["Body"] == "woken"


def test_bytes_that_are_no_text_arrive_too(queue: Queue, address: str) -> None:
    messages = [
        Message(value=BINARY, headers=(("raw", BINARY), ("none", None))),
        Message(value=None),
        Message(value=b""),
        Message(value=b"\x01\x0b", headers=(("name with spaces", b"\x00"),)),
        Message(value=b"fine"),
    ]
    produce(address, queue.name, messages)
    found = [queue.receive_one() for _ in messages]
    encoded = b64encode(BINARY).decode()
    controls = b64encode(b"\x01\x0b").decode()
    assert [message["Body"] for message in found] == [encoded, "", "", controls, "fine"]
    attributes = found[0]["MessageAttributes"]
    assert attributes["duolog.encoding"]["StringValue"] == "base64"
    assert attributes["raw"] == {"DataType": "Binary", "BinaryValue": BINARY}
    assert found[3]["MessageAttributes"]["name with spaces"]["BinaryValue"] == b"\x00"
    for message in found:
        queue.delete(message)
    assert queue.counts() == (0, 0, 0)


def test_older_clients_are_spared_characters_that_xml_cannot_have(
    node: Node, queue: Queue, address: str
) -> None:
    produce(address, queue.name, [Message(value=b"a\x00b\x0bc"), Message(value=b"fine")])
    older = Queue(client(node.sqs, "query"), queue.url)
    eventually(lambda: queue.counts()[0] == 2)
    assert older.bodies() == [b64encode(b"a\x00b\x0bc").decode(), "fine"]


def test_a_producer_s_key_is_the_group_of_a_fifo_queue(modern_sqs: Any, address: str) -> None:
    queue = Queue.create(modern_sqs, FifoQueue=True)
    messages = [
        Message(key=b"ab"[each % 2 : each % 2 + 1], value=b"%d" % each) for each in range(4)
    ]
    produce(address, queue.name, messages)
    eventually(lambda: queue.counts() == (4, 0, 0))
    found = queue.receive(1) + queue.receive(1)
    assert [message["Body"] for message in found] == ["0", "1"]
    assert [message["Attributes"]["MessageGroupId"] for message in found] == ["a", "b"]
    assert queue.receive() == []
    queue.delete(found[1])
    assert queue.bodies() == ["3"]


def test_a_topic_becomes_a_queue_when_one_of_its_name_is_created(
    modern_sqs: Any, address: str, admin: AdminClient
) -> None:
    name = new_name("topic-and-queue")
    admin.create_topics([NewTopic(name, 2)])[name].result(SECONDS_MAX)
    produce(address, name, [Message(value=b"before")])
    queue = Queue.create(modern_sqs, name)
    produce(address, name, [Message(value=b"after")])
    assert queue.drain(2) == ["before", "after"]


def test_a_queue_s_topic_cannot_be_deleted_under_it(queue: Queue, admin: AdminClient) -> None:
    with pytest.raises(KafkaException):
        admin.delete_topics([queue.name])[queue.name].result(SECONDS_MAX)
    queue.send("x")
    assert queue.bodies() == ["x"]
    queue.sqs.delete_queue(QueueUrl=queue.url)
    eventually(lambda: queue.name not in admin.list_topics(timeout=SECONDS_MAX).topics)


def test_records_deleted_from_the_topic_are_gone_from_the_queue(
    queue: Queue, admin: AdminClient
) -> None:
    queue.send_all([str(each) for each in range(10)])
    place = TopicPartition(queue.name, 0, 7)
    for done in admin.delete_records([place]).values():
        assert done.result(SECONDS_MAX).low_watermark == 7
    assert queue.bodies() == ["7", "8", "9"]
    assert queue.counts() == (0, 3, 0)


def test_a_queue_grows_with_the_partitions_of_its_topic(
    queue: Queue, admin: AdminClient, address: str
) -> None:
    queue.send("0")
    admin.create_partitions([NewPartitions(queue.name, 3)])[queue.name].result(SECONDS_MAX)
    producer = Producer({"bootstrap.servers": address})
    for partition in (1, 2):
        producer.produce(queue.name, str(partition).encode(), partition=partition)
    assert producer.flush(SECONDS_MAX) == 0
    queue.send_all([str(each) for each in range(3, 10)])
    assert sorted(queue.drain(10)) == [str(each) for each in range(10)]


def test_the_log_of_deliveries_is_not_for_clients(queue: Queue, address: str) -> None:
    queue.send("x")
    queue.receive_one()
    producer = Producer({"bootstrap.servers": address})
    errors: list[object] = []
    producer.produce(
        f"__queue.{queue.name}", b"junk", on_delivery=lambda error, _: errors.append(error)
    )
    assert producer.flush(SECONDS_MAX) == 0
    assert errors[0] is not None
    assert queue.counts() == (0, 1, 0)
