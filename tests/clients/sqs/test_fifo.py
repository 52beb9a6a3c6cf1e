"""FIFO queues through boto3: order in a group, each message once."""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError
from tests.harness.sqs import Queue, error_code

from .conftest import NewQueue

WAKE_SECONDS_MAX = 10.0
"""Less than a long poll takes by itself."""


@pytest.fixture
def queue(new_queue: NewQueue) -> Queue:
    return new_queue(FifoQueue=True)


def send(
    queue: Queue, body: str, group: str, deduplication_id: str | None = None
) -> dict[str, str]:
    return queue.send(
        body, MessageGroupId=group, MessageDeduplicationId=deduplication_id or f"{group}-{body}"
    )


def test_a_group_is_received_in_order_and_held_while_one_of_it_is_in_flight(queue: Queue) -> None:
    for each in range(3):
        send(queue, f"a{each}", "a")
    send(queue, "b0", "b")
    first = queue.receive(2)
    assert [message["Body"] for message in first] == ["a0", "a1"]
    assert queue.bodies() == ["b0"]
    for message in first:
        queue.delete(message)
    assert queue.bodies() == ["a2"]


def test_what_is_given_back_comes_before_what_follows_it(queue: Queue) -> None:
    for each in range(4):
        send(queue, str(each), "g")
    found = queue.receive(2)
    for message in reversed(found):
        queue.hide(message, 0)
    assert queue.bodies() == ["0", "1", "2", "3"]


def test_a_message_sent_twice_is_there_once(queue: Queue) -> None:
    first = send(queue, "x", "g", "same")
    again = send(queue, "other", "g", "same")
    assert again["MessageId"] == first["MessageId"]
    assert again["SequenceNumber"] == first["SequenceNumber"]
    (message,) = queue.receive()
    queue.delete(message)
    send(queue, "x", "g", "same")
    assert queue.counts() == (0, 0, 0)


def test_content_can_be_what_tells_messages_apart(new_queue: NewQueue) -> None:
    queue = new_queue(FifoQueue=True, ContentBasedDeduplication=True)
    for body in ("x", "x", "y"):
        queue.send(body, MessageGroupId="g")
    queue.send("x", MessageGroupId="g", MessageDeduplicationId="mine")
    found = queue.receive()
    assert [message["Body"] for message in found] == ["x", "y", "x"]
    ids = [message["Attributes"]["MessageDeduplicationId"] for message in found]
    assert ids == [hashlib.sha256(b"x").hexdigest(), hashlib.sha256(b"y").hexdigest(), "mine"]


def test_messages_tell_their_group_and_place(queue: Queue) -> None:
    sent = [send(queue, str(each), "g") for each in range(3)]
    found = queue.receive()
    numbers = [message["Attributes"]["SequenceNumber"] for message in found]
    assert numbers == [each["SequenceNumber"] for each in sent]
    assert [int(each) for each in numbers] == sorted(int(each) for each in numbers)
    assert found[0]["Attributes"]["MessageGroupId"] == "g"
    assert found[0]["Attributes"]["MessageDeduplicationId"] == "g-0"


def test_a_receive_tried_again_gets_the_same_messages(queue: Queue) -> None:
    for each in range(4):
        send(queue, str(each), "g")
    first = queue.receive(2, ReceiveRequestAttemptId="attempt-1")
    again = queue.receive(2, ReceiveRequestAttemptId="attempt-1")
    assert [each["MessageId"] for each in again] == [each["MessageId"] for each in first]
    for message in again:
        queue.delete(message)
    assert queue.bodies() == ["2", "3"]


def test_a_receipt_does_not_outlive_its_visibility(queue: Queue) -> None:
    send(queue, "x", "g")
    (message,) = queue.receive(VisibilityTimeout=0)
    with pytest.raises(ClientError) as failure:
        queue.delete(message)
    assert error_code(failure.value) == "InvalidParameterValue"
    assert queue.counts() == (1, 0, 0)


def test_a_batch_keeps_its_order_and_finds_its_own_duplicates(queue: Queue) -> None:
    entries = [
        {
            "Id": str(index),
            "MessageBody": body,
            "MessageGroupId": "g",
            "MessageDeduplicationId": body,
        }
        for index, body in enumerate(["a", "b", "a", "c"])
    ]
    done = queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)["Successful"]
    assert done[0]["MessageId"] == done[2]["MessageId"]
    assert queue.bodies() == ["a", "b", "c"]


def test_a_high_throughput_queue_keeps_the_order_of_every_group(new_queue: NewQueue) -> None:
    queue = new_queue(
        FifoQueue=True,
        DeduplicationScope="messageGroup",
        FifoThroughputLimit="perMessageGroupId",
    )
    groups = [f"g{each}" for each in range(12)]
    for each in range(5):
        for group in groups:
            send(queue, f"{group}:{each}", group, str(each))
    bodies = queue.drain(60)
    for group in groups:
        mine = [body for body in bodies if body.startswith(f"{group}:")]
        assert mine == [f"{group}:{each}" for each in range(5)]


def test_a_queue_that_becomes_a_high_throughput_one_keeps_its_order(queue: Queue) -> None:
    groups = [f"g{each}" for each in range(8)]
    for each in range(2):
        for group in groups:
            send(queue, f"{group}:{each}", group)
    queue.set(DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    for each in range(2, 4):
        for group in groups:
            send(queue, f"{group}:{each}", group)
    bodies = queue.drain(32)
    for group in groups:
        mine = [body for body in bodies if body.startswith(f"{group}:")]
        assert mine == [f"{group}:{each}" for each in range(4)]


def test_a_long_poll_gets_what_a_deletion_lets_go(queue: Queue) -> None:
    send(queue, "first", "g")
    send(queue, "second", "g")
    (first,) = queue.receive(1)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(queue.receive_one, WaitTimeSeconds=20)
        time.sleep(0.2)
        assert not waiting.done()
        queue.delete(first)
        assert waiting.result(WAKE_SECONDS_MAX)["Body"] == "second"


def test_a_whole_fifo_queue_can_be_delayed(new_queue: NewQueue) -> None:
    queue = new_queue(FifoQueue=True, DelaySeconds=5)
    send(queue, "a", "g")
    send(queue, "b", "g")
    assert queue.counts() == (0, 0, 2)
    assert queue.receive() == []
    assert queue.receive_one()["Body"] == "a"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"MessageDeduplicationId": "1"}, "MissingParameter"),
        ({"MessageGroupId": "g"}, "InvalidParameterValue"),
        ({"MessageGroupId": "g", "MessageDeduplicationId": "x" * 129}, "InvalidParameterValue"),
        ({"MessageGroupId": "a b", "MessageDeduplicationId": "1"}, "InvalidParameterValue"),
        (
            {"MessageGroupId": "g", "MessageDeduplicationId": "1", "DelaySeconds": 1},
            "InvalidParameterValue",
        ),
    ],
)
def test_what_a_fifo_queue_cannot_take_is_refused(
    queue: Queue, more: dict[str, object], code: str
) -> None:
    with pytest.raises(ClientError) as failure:
        queue.send("x", **more)
    assert error_code(failure.value) == code
    assert queue.counts() == (0, 0, 0)


def test_a_fifo_queue_stays_one(queue: Queue, new_queue: NewQueue) -> None:
    with pytest.raises(ClientError):
        queue.set(FifoQueue=False)
    with pytest.raises(ClientError):
        new_queue("no-suffix", FifoQueue=True)
    with pytest.raises(queue.sqs.exceptions.InvalidAttributeValue):
        queue.set(FifoThroughputLimit="perMessageGroupId")
    assert queue.attributes()["FifoQueue"] == "true"
