"""Messages through boto3: what is sent comes back, with all that belongs to it."""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto.sqs.models import Message as MotoMessage
from tests.harness.sqs import Queue, error_code

KIB = 1 << 10
MIB = 1 << 20

ATTRIBUTES = {
    "Title": {"DataType": "String", "StringValue": "The Whistler & <others>"},
    "Weeks.On": {"DataType": "Number.int", "StringValue": "6"},
    "price": {"DataType": "Number", "StringValue": "-12.50"},
    "picture": {"DataType": "Binary.png", "BinaryValue": bytes(range(256))},
}
TRACE = {
    "AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a9"}
}


def md5(text: str) -> str:
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def md5_of_attributes(attributes: dict[str, Any]) -> str:
    """As another implementation of SQS computes it."""
    message = MotoMessage("id", "body")
    message.message_attributes = attributes
    return str(message.attribute_md5)


@pytest.mark.parametrize(
    "body",
    [
        "x",
        "<xml attribute=\"1\">&amp; 'quotes'</xml>",
        '{"json": ["\\"", null, 1e3]}',
        "Grüße, мир, 世界 \U0001f600 \ue000 \ufffd",
        "  leading,\ttabs,\r\nline\rbreaks\n\nand trailing  ",
        "a=b&c=d+e%20f%zz",
    ],
)
def test_a_body_comes_back_as_it_was_sent(queue: Queue, body: str) -> None:
    sent = queue.send(body)
    (message,) = queue.receive()
    assert message["Body"] == body
    assert message["MessageId"] == sent["MessageId"]
    assert message["MD5OfBody"] == sent["MD5OfMessageBody"] == md5(body)


def test_attributes_come_back_as_they_were_sent(queue: Queue) -> None:
    sent = queue.send("x", MessageAttributes=ATTRIBUTES, MessageSystemAttributes=TRACE)
    (message,) = queue.receive()
    assert message["MessageAttributes"] == ATTRIBUTES
    digest = md5_of_attributes(ATTRIBUTES)
    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"] == digest
    assert message["Attributes"]["AWSTraceHeader"] == TRACE["AWSTraceHeader"]["StringValue"]
    assert sent["MD5OfMessageSystemAttributes"] == md5_of_attributes(TRACE)


def test_only_attributes_that_were_asked_for_come(queue: Queue) -> None:
    queue.send("x", MessageAttributes=ATTRIBUTES)

    def names(*asked: str) -> set[str]:
        (message,) = queue.receive(
            MessageAttributeNames=list(asked), MessageSystemAttributeNames=[], VisibilityTimeout=0
        )
        assert "Attributes" not in message
        chosen = message.get("MessageAttributes", {})
        assert message.get("MD5OfMessageAttributes") == (
            md5_of_attributes(chosen) if chosen else None
        )
        return set(chosen)

    assert names() == set()
    assert names("price", "missing") == {"price"}
    assert names("p.*") == {"price", "picture"}
    assert names("Weeks.*", "Title") == {"Weeks.On", "Title"}
    assert names("All") == names(".*") == set(ATTRIBUTES)


def test_system_attributes_tell_when_and_how_often(queue: Queue) -> None:
    before_ms = int(time.time() * 1000)
    queue.send("x")
    (first,) = queue.receive(VisibilityTimeout=0)
    (second,) = queue.receive()
    after_ms = int(time.time() * 1000)
    assert first["Attributes"]["ApproximateReceiveCount"] == "1"
    assert second["Attributes"]["ApproximateReceiveCount"] == "2"
    sent_ms = int(second["Attributes"]["SentTimestamp"])
    received_ms = int(second["Attributes"]["ApproximateFirstReceiveTimestamp"])
    assert before_ms <= sent_ms <= received_ms <= after_ms
    assert first["Attributes"]["ApproximateFirstReceiveTimestamp"] == str(received_ms)
    assert second["Attributes"]["SenderId"]


def test_the_older_name_of_system_attributes_still_works(queue: Queue) -> None:
    queue.send("x")
    (message,) = queue.receive(AttributeNames=["SentTimestamp"], MessageSystemAttributeNames=[])
    assert set(message["Attributes"]) == {"SentTimestamp"}


def test_a_message_of_a_mebibyte_is_taken_and_one_byte_more_is_not(queue: Queue) -> None:
    largest = "ö" * (MIB // 2)
    queue.send(largest)
    (message,) = queue.receive()
    assert message["Body"] == largest
    with pytest.raises(ClientError) as failure:
        queue.send(largest + "x")
    assert error_code(failure.value) == "InvalidParameterValue"
    with pytest.raises(ClientError):
        queue.send("x" * (MIB - 10), MessageAttributes=ATTRIBUTES)


def test_a_deleted_message_does_not_come_again(queue: Queue) -> None:
    queue.send("x")
    (message,) = queue.receive(VisibilityTimeout=0)
    queue.delete(message)
    assert queue.receive() == []
    assert queue.counts() == (0, 0, 0)
    queue.delete(message)


def test_counts_are_exact(queue: Queue) -> None:
    queue.send_all([str(each) for each in range(12)])
    queue.send("later", DelaySeconds=900)
    taken = queue.receive(5)
    assert queue.counts() == (7, 5, 1)
    queue.delete(taken[0])
    queue.hide(taken[1], 0)
    assert queue.counts() == (8, 3, 1)


def test_a_group_with_much_in_flight_does_not_hold_up_the_others(queue: Queue) -> None:
    queue.send_all(["noisy"] * 60, MessageGroupId="noisy")
    for _ in range(4):
        assert queue.bodies() == ["noisy"] * 10
    queue.send("quiet", MessageGroupId="quiet")
    (message,) = queue.receive(1)
    assert message["Body"] == "quiet"
    assert message["Attributes"]["MessageGroupId"] == "quiet"


def test_many_clients_share_a_queue_without_getting_the_same_message_twice(queue: Queue) -> None:
    count = 300
    queue.send_all([str(each) for each in range(count)])

    def consume(_: int) -> list[str]:
        bodies = []
        while found := queue.receive():
            bodies += [message["Body"] for message in found]
            entries = [
                {"Id": str(index), "ReceiptHandle": message["ReceiptHandle"]}
                for index, message in enumerate(found)
            ]
            answer = queue.sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries)
            assert "Failed" not in answer
        return bodies

    with ThreadPoolExecutor(4) as pool:
        received = [body for bodies in pool.map(consume, range(4)) for body in bodies]
    assert sorted(received, key=int) == [str(each) for each in range(count)]
    assert queue.counts() == (0, 0, 0)
