"""Subscription queues: any number of them read one topic, beside its consumer groups."""

import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.drivers import confluent
from tests.harness.drivers.ledger import DeliveryLedger
from tests.harness.drivers.message import Message
from tests.harness.sqs import Queue, eventually, new_name

COUNT = 600
PARTITIONS = 3
QUEUES = 3
SECONDS_MAX = 30.0
CONSUME_SECONDS_MAX = 90.0


@pytest.fixture
def source(admin: AdminClient) -> str:
    name = new_name("source")
    admin.create_topics([NewTopic(name, PARTITIONS)])[name].result(SECONDS_MAX)
    return name


def consume(queue: Queue, count: int) -> Counter[str]:
    """Receive and delete until so many have come, and see that nothing comes then."""
    bodies: Counter[str] = Counter()
    deadline = time.monotonic() + CONSUME_SECONDS_MAX
    while bodies.total() < count and time.monotonic() < deadline:
        found = queue.receive(WaitTimeSeconds=1)
        bodies.update(message["Body"] for message in found)
        if found:
            receipts = [
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                for index, message in enumerate(found)
            ]
            queue.sqs.delete_message_batch(QueueUrl=queue.url, Entries=receipts)
    assert queue.receive() == []
    return bodies


def produce(address: str, topic: str, partition: int, texts: list[str]) -> None:
    messages = [Message(value=text.encode()) for text in texts]
    confluent.produce(address, topic, messages, compression="none", partition=partition)


def test_three_queues_and_a_consumer_group_each_see_every_message(
    modern_sqs: Any, address: str, source: str
) -> None:
    queues = [Queue.create(modern_sqs, **{"duolog:SourceTopic": source}) for _ in range(QUEUES)]
    ledger = DeliveryLedger()
    members = [confluent.Member(address, new_name("group"), source, ledger)]
    members.append(confluent.Member(address, members[0].group, source, ledger))
    texts = [str(each) for each in range(COUNT)]
    parts = [texts[index::PARTITIONS] for index in range(PARTITIONS)]
    with ThreadPoolExecutor(QUEUES + PARTITIONS) as pool:
        reading = [pool.submit(consume, queue, COUNT) for queue in queues]
        writing = [
            pool.submit(produce, address, source, index, part) for index, part in enumerate(parts)
        ]
        for each in writing:
            each.result()
        expected = Counter(texts)
        for each in reading:
            assert each.result() == expected
    try:
        eventually(lambda: len(ledger.values) >= COUNT, CONSUME_SECONDS_MAX)
        assert set(ledger.values) == {text.encode() for text in texts}
        assert not ledger.repeated
    finally:
        for member in members:
            member.leave()
    for queue in queues:
        assert queue.counts() == (0, 0, 0)


def test_subscriptions_do_not_copy_and_do_not_disturb_each_other(
    modern_sqs: Any, address: str, source: str, admin: AdminClient
) -> None:
    first = Queue.create(modern_sqs, **{"duolog:SourceTopic": source})
    produce(address, source, 0, ["a", "b"])
    second = Queue.create(modern_sqs, **{"duolog:SourceTopic": source})
    assert first.name not in admin.list_topics(timeout=SECONDS_MAX).topics
    eventually(lambda: first.counts() == (2, 0, 0))
    held = first.receive(2)
    assert second.counts()[0] == 2, "a later subscription has what the topic still has"
    assert second.drain(2) == ["a", "b"]
    first.hide(held[0], 0)
    assert first.bodies() == ["a"]
    modern_sqs.delete_queue(QueueUrl=second.url)
    produce(address, source, 1, ["c"])
    assert first.receive_one()["Body"] == "c"
    assert source in admin.list_topics(timeout=SECONDS_MAX).topics


def test_what_is_sent_to_a_subscription_is_for_all(modern_sqs: Any, source: str) -> None:
    queues = [Queue.create(modern_sqs, **{"duolog:SourceTopic": source}) for _ in range(2)]
    queues[0].send("x")
    assert [queue.receive_one()["Body"] for queue in queues] == ["x", "x"]


def test_a_subscription_needs_its_topic(modern_sqs: Any) -> None:
    with pytest.raises(ClientError) as failure:
        Queue.create(modern_sqs, **{"duolog:SourceTopic": new_name("missing")})
    assert failure.value.response["Error"]["Code"] == "InvalidAttributeValue"
