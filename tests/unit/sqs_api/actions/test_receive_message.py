"""ReceiveMessage gives messages with what was asked for about them, and nothing more."""

from base64 import b64encode
from hashlib import md5
from typing import Any

import pytest
from tests.fakes.queues import NOW_MS, FakeQueue
from tests.unit.sqs_api.workbench import ACCOUNT, Workbench, arn, url

from duolog.core.queues.message import Message, MessageAttribute, from_record
from duolog.records.record import Record

ATTRIBUTES = {
    "General": MessageAttribute("String", b"a"),
    "Hello": MessageAttribute("Number", b"1"),
    "Help.Me": MessageAttribute("Binary", b"\x00"),
}


def message(body: str = "hello", **more: Any) -> Message:
    return Message(**{"body": body, "attributes": {}, "group_id": None, "sent_ms": NOW_MS, **more})


@pytest.fixture
def queue(sqs: Workbench) -> FakeQueue:
    return sqs.queues.make("q", ReceiveMessageWaitTimeSeconds="3")


async def receive(sqs: Workbench, queue: str = "q", **parameters: Any) -> list[dict[str, Any]]:
    result = await sqs.call("ReceiveMessage", QueueUrl=url(queue), **parameters)
    messages: list[dict[str, Any]] = result.get("Messages", [])
    return messages


async def test_a_message_has_its_body_and_nothing_unasked_for(
    sqs: Workbench, queue: FakeQueue
) -> None:
    queue.put(message(attributes=ATTRIBUTES, sender_id="someone"))
    assert await receive(sqs) == [
        {
            "MessageId": "id-0",
            "ReceiptHandle": "receipt-0-1",
            "MD5OfBody": md5(b"hello").hexdigest(),
            "Body": "hello",
        }
    ]


async def test_an_empty_queue_gives_no_member_at_all(sqs: Workbench, queue: FakeQueue) -> None:
    assert await sqs.call("ReceiveMessage", QueueUrl=url("q"), WaitTimeSeconds=0) == {}


async def test_the_queue_says_how_long_to_wait_and_to_hide(
    sqs: Workbench, queue: FakeQueue
) -> None:
    queue.put(message())
    await receive(sqs)
    asked = queue.receives[0]
    assert (asked["count"], asked["wait_ms"], asked["visibility_ms"]) == (1, 3_000, None)
    assert asked["attempt"] is None


@pytest.mark.parametrize(
    ("parameter", "value", "told", "expected"),
    [
        ("MaxNumberOfMessages", 1, "count", 1),
        ("MaxNumberOfMessages", 10, "count", 10),
        ("WaitTimeSeconds", 0, "wait_ms", 0),
        ("WaitTimeSeconds", 20, "wait_ms", 20_000),
        ("VisibilityTimeout", 0, "visibility_ms", 0),
        ("VisibilityTimeout", 43_200, "visibility_ms", 43_200_000),
    ],
)
async def test_the_request_may_say_otherwise(
    sqs: Workbench, queue: FakeQueue, parameter: str, value: int, told: str, expected: int
) -> None:
    queue.put(message())
    await receive(sqs, **{parameter: value})
    assert queue.receives[0][told] == expected


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("MaxNumberOfMessages", 0),
        ("MaxNumberOfMessages", 11),
        ("WaitTimeSeconds", -1),
        ("WaitTimeSeconds", 21),
        ("VisibilityTimeout", -1),
        ("VisibilityTimeout", 43_201),
        ("ReceiveRequestAttemptId", "attempt"),
    ],
)
async def test_what_is_out_of_bounds_is_refused(
    sqs: Workbench, queue: FakeQueue, parameter: str, value: object
) -> None:
    refusal = await sqs.refusal("ReceiveMessage", QueueUrl=url("q"), **{parameter: value})
    assert refusal.code == "InvalidParameterValue"
    assert queue.receives == []


async def test_several_messages_come_together(sqs: Workbench, queue: FakeQueue) -> None:
    for body in "abc":
        queue.put(message(body))
    assert [each["Body"] for each in await receive(sqs, MaxNumberOfMessages=2)] == ["a", "b"]


# What the system knows.


@pytest.mark.parametrize("parameter", ["AttributeNames", "MessageSystemAttributeNames"])
async def test_all_of_a_standard_message(sqs: Workbench, queue: FakeQueue, parameter: str) -> None:
    queue.put(message(trace_header="Root=1", dead_letter_source="orders", sender_id="AKID"))
    (received,) = await receive(sqs, **{parameter: ["All"]})
    assert received["Attributes"] == {
        "SenderId": "AKID",
        "SentTimestamp": str(NOW_MS),
        "ApproximateReceiveCount": "1",
        "ApproximateFirstReceiveTimestamp": str(NOW_MS + 5),
        "AWSTraceHeader": "Root=1",
        "DeadLetterQueueSourceArn": arn("orders"),
    }


async def test_all_of_a_fifo_message(sqs: Workbench) -> None:
    queue = sqs.queues.make("f.fifo", FifoQueue="true")
    queue.put(message(group_id="g", deduplication_id="d"))
    (received,) = await receive(sqs, "f.fifo", MessageSystemAttributeNames=["All"])
    assert (
        received["Attributes"].items()
        >= {
            "SequenceNumber": "0" * 20,
            "MessageGroupId": "g",
            "MessageDeduplicationId": "d",
            "SenderId": ACCOUNT,
        }.items()
    )


async def test_some_of_it_by_either_name_or_both(sqs: Workbench, queue: FakeQueue) -> None:
    queue.put(message())
    (received,) = await receive(
        sqs,
        AttributeNames=["SenderId"],
        MessageSystemAttributeNames=["ApproximateReceiveCount", "SequenceNumber"],
    )
    assert received["Attributes"] == {"SenderId": ACCOUNT, "ApproximateReceiveCount": "1"}


async def test_an_unknown_attribute_is_refused(sqs: Workbench, queue: FakeQueue) -> None:
    for parameter in ("AttributeNames", "MessageSystemAttributeNames"):
        refusal = await sqs.refusal(
            "ReceiveMessage", QueueUrl=url("q"), **{parameter: ["VisibilityTimeout"]}
        )
        assert refusal.code == "InvalidAttributeName"


# What the sender said.


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["All"], {"General", "Hello", "Help.Me"}),
        ([".*"], {"General", "Hello", "Help.Me"}),
        (["Hello"], {"Hello"}),
        (["Hello", "Nothing"], {"Hello"}),
        (["Hel.*"], {"Hello", "Help.Me"}),
        (["Help.*", "General"], {"Help.Me", "General"}),
        (["hello"], set()),
        ([], set()),
    ],
)
async def test_attributes_by_name_and_by_prefix(
    sqs: Workbench, queue: FakeQueue, names: list[str], expected: set[str]
) -> None:
    queue.put(message(attributes=ATTRIBUTES))
    (received,) = await receive(sqs, MessageAttributeNames=names)
    assert set(received.get("MessageAttributes", {})) == expected
    assert ("MD5OfMessageAttributes" in received) == bool(expected)


async def test_the_digest_is_of_what_is_returned(sqs: Workbench, queue: FakeQueue) -> None:
    queue.put(message(attributes=ATTRIBUTES))
    (received,) = await receive(sqs, MessageAttributeNames=["Hello"])
    assert received["MessageAttributes"] == {"Hello": {"DataType": "Number", "StringValue": "1"}}
    digested = b"\0\0\0\5Hello\0\0\0\6Number\1\0\0\0\x011"
    assert received["MD5OfMessageAttributes"] == md5(digested).hexdigest()


async def test_bytes_come_back_as_bytes(sqs: Workbench, queue: FakeQueue) -> None:
    queue.put(message(attributes=ATTRIBUTES))
    (received,) = await receive(sqs, MessageAttributeNames=["Help.Me"])
    assert received["MessageAttributes"]["Help.Me"] == {"DataType": "Binary", "BinaryValue": "AA=="}


async def test_a_message_of_a_kafka_producer_is_always_readable(
    sqs: Workbench, queue: FakeQueue
) -> None:
    headers = (("\x01", b"\xff"), ("c", b"\x1b"), ("e", b""))
    queue.put(from_record(Record(b"\x02", b"a\x01b\x00", headers, 0)))
    (received,) = await receive(
        sqs, MessageAttributeNames=["All"], MessageSystemAttributeNames=["All"]
    )
    assert received["Body"] == b64encode(b"a\x01b\x00").decode()
    assert received["MD5OfBody"] == md5(received["Body"].encode()).hexdigest()
    attributes = received["MessageAttributes"]
    assert attributes["duolog.encoding"]["StringValue"] == "base64"
    assert attributes["\ufffd"] == {"DataType": "Binary", "BinaryValue": "/w=="}
    assert attributes["c"] == {"DataType": "Binary", "BinaryValue": "Gw=="}
    assert attributes["e"]["DataType"] == "String"


# FIFO's attempts.


async def test_an_attempt_may_be_named_at_a_fifo_queue(sqs: Workbench) -> None:
    queue = sqs.queues.make("f.fifo", FifoQueue="true")
    await receive(sqs, "f.fifo", ReceiveRequestAttemptId="a" * 128)
    assert queue.receives[0]["attempt"] == "a" * 128


@pytest.mark.parametrize("attempt", ["", "a" * 129, "a b"])
async def test_attempts_that_are_refused(sqs: Workbench, attempt: str) -> None:
    sqs.queues.make("f.fifo", FifoQueue="true")
    refusal = await sqs.refusal(
        "ReceiveMessage", QueueUrl=url("f.fifo"), ReceiveRequestAttemptId=attempt
    )
    assert refusal.code == "InvalidParameterValue"
