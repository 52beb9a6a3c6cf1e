"""Every limit of the API: its edge is accepted, one past it is not."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.sqs import Queue, client, error_code, new_name

MIB = 1 << 20

pytestmark = pytest.mark.usefixtures("queues_stay_well")

Edge = tuple[Callable[[Queue, Any], object], Any, Any, str]
"""What to do with a queue and a value; the last value that is fine; one past it; the code."""


@pytest.fixture(scope="module")
def lenient(node: Any) -> Any:
    """A client that leaves the checking to the server."""
    return client(node.sqs, parameter_validation=False)


def receive(name: str) -> Callable[[Queue, Any], object]:
    return lambda queue, value: queue.sqs.receive_message(QueueUrl=queue.url, **{name: value})


def create(attribute: str) -> Callable[[Queue, Any], object]:
    return lambda queue, value: Queue.create(queue.sqs, **{attribute: value})


def attributes(count: int, name: str = "a", kind: str = "String") -> dict[str, Any]:
    value = {"DataType": kind, "StringValue": "x"}
    return {name if count == 1 else f"{name}{each}": value for each in range(count)}


def send_ordered(name: str) -> Callable[[Queue, Any], object]:
    def send(queue: Queue, value: str) -> object:
        fifo = Queue.create(queue.sqs, FifoQueue=True)
        asked = {"MessageGroupId": "g", "MessageDeduplicationId": "d", name: value}
        return fifo.send("x", **asked)

    return send


def receive_again(queue: Queue, value: str) -> object:
    return Queue.create(queue.sqs, FifoQueue=True).receive(ReceiveRequestAttemptId=value)


def send_batch(queue: Queue, ids: list[str]) -> object:
    entries = [{"Id": each, "MessageBody": "x"} for each in ids]
    return queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)


def tag(queue: Queue, tags: dict[str, str]) -> object:
    fresh = Queue.create(queue.sqs)
    return queue.sqs.tag_queue(QueueUrl=fresh.url, Tags=tags)


def permit(queue: Queue, asked: dict[str, Any]) -> object:
    fresh = Queue.create(queue.sqs)
    full = {"Label": "l", "AWSAccountIds": ["1" * 12], "Actions": ["SendMessage"], **asked}
    return queue.sqs.add_permission(QueueUrl=fresh.url, **full)


def hide(queue: Queue, seconds: int) -> None:
    queue.send("x")
    queue.hide(queue.receive_one(), seconds)


def move(queue: Queue, rate: int) -> object:
    dead = Queue.create(queue.sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1}
    Queue.create(queue.sqs, RedrivePolicy=policy)
    return queue.sqs.start_message_move_task(SourceArn=dead.arn, MaxNumberOfMessagesPerSecond=rate)


def redrive(queue: Queue, count: int) -> None:
    dead = Queue.create(queue.sqs)
    queue.set(RedrivePolicy={"deadLetterTargetArn": dead.arn, "maxReceiveCount": count})


def policy(size: int) -> str:
    text = '{"Version": "2012-10-17", "Id": "", "Statement": []}'
    return text.replace('""', f'"{"x" * (size - len(text))}"')


def send_long(queue: Queue, size: int) -> object:
    return queue.send("x" * size)


INVALID = "InvalidParameterValue"
ATTRIBUTE = "InvalidAttributeValue"
OLDER = "AWS.SimpleQueueService."

EDGES: dict[str, Edge] = {
    "messages at least": (receive("MaxNumberOfMessages"), 1, 0, INVALID),
    "messages at most": (receive("MaxNumberOfMessages"), 10, 11, INVALID),
    "wait at least": (receive("WaitTimeSeconds"), 0, -1, INVALID),
    "wait at most": (receive("WaitTimeSeconds"), 0, 21, INVALID),
    "visibility at least": (receive("VisibilityTimeout"), 0, -1, INVALID),
    "visibility at most": (receive("VisibilityTimeout"), 43_200, 43_201, INVALID),
    "hiding at least": (hide, 0, -1, INVALID),
    "hiding at most": (hide, 43_199, 43_201, INVALID),
    "attempt": (receive_again, "a" * 128, "a" * 129, INVALID),
    "body at least": (send_long, 1, 0, "MissingParameter"),
    "body at most": (send_long, MIB, MIB + 1, INVALID),
    "delay at least": (lambda q, s: q.send("x", DelaySeconds=s), 0, -1, INVALID),
    "delay at most": (lambda q, s: q.send("x", DelaySeconds=s), 900, 901, INVALID),
    "attributes": (
        lambda q, n: q.send("x", MessageAttributes=attributes(n)),
        10,
        11,
        INVALID,
    ),
    "attribute name": (
        lambda q, n: q.send("x", MessageAttributes=attributes(1, "n" * n)),
        256,
        257,
        INVALID,
    ),
    "attribute type": (
        lambda q, n: q.send("x", MessageAttributes=attributes(1, "a", "String." + "t" * n)),
        249,
        250,
        INVALID,
    ),
    "group": (send_ordered("MessageGroupId"), "g" * 128, "g" * 129, INVALID),
    "deduplication": (send_ordered("MessageDeduplicationId"), "d" * 128, "d" * 129, INVALID),
    "batch at least": (send_batch, ["a"], [], OLDER + "EmptyBatchRequest"),
    "batch at most": (
        send_batch,
        list("abcdefghij"),
        list("abcdefghijk"),
        OLDER + "TooManyEntriesInBatchRequest",
    ),
    "batch id at least": (send_batch, ["a"], [""], OLDER + "InvalidBatchEntryId"),
    "batch id at most": (send_batch, ["a" * 80], ["a" * 81], OLDER + "InvalidBatchEntryId"),
    "name": (
        lambda q, n: Queue.create(q.sqs, new_name().ljust(n, "x")),
        80,
        81,
        INVALID,
    ),
    "retention at least": (create("MessageRetentionPeriod"), 60, 59, ATTRIBUTE),
    "retention at most": (create("MessageRetentionPeriod"), 1_209_600, 1_209_601, ATTRIBUTE),
    "size at least": (create("MaximumMessageSize"), 1_024, 1_023, ATTRIBUTE),
    "size at most": (create("MaximumMessageSize"), MIB, MIB + 1, ATTRIBUTE),
    "queue's delay": (create("DelaySeconds"), 900, 901, ATTRIBUTE),
    "queue's wait": (create("ReceiveMessageWaitTimeSeconds"), 20, 21, ATTRIBUTE),
    "queue's visibility": (create("VisibilityTimeout"), 43_200, 43_201, ATTRIBUTE),
    "data key at least": (create("KmsDataKeyReusePeriodSeconds"), 60, 59, ATTRIBUTE),
    "data key at most": (create("KmsDataKeyReusePeriodSeconds"), 86_400, 86_401, ATTRIBUTE),
    "policy": (create("Policy"), policy(8_192), policy(8_193), ATTRIBUTE),
    "receive count at least": (redrive, 1, 0, INVALID),
    "receive count at most": (redrive, 1_000, 1_001, INVALID),
    "tags": (tag, {f"t{n}": "" for n in range(50)}, {f"t{n}": "" for n in range(51)}, "OverLimit"),
    "tag key": (tag, {"k" * 128: "v"}, {"k" * 129: "v"}, INVALID),
    "tag value": (tag, {"k": "v" * 256}, {"k": "v" * 257}, INVALID),
    "label": (permit, {"Label": "l" * 80}, {"Label": "l" * 81}, INVALID),
    "actions": (
        permit,
        {"Actions": ["SendMessage"] * 7},
        {"Actions": ["SendMessage"] * 8},
        "OverLimit",
    ),
    "account": (permit, {"AWSAccountIds": ["1" * 12]}, {"AWSAccountIds": ["1" * 13]}, INVALID),
    "page at least": (lambda q, n: q.sqs.list_queues(MaxResults=n), 1, 0, INVALID),
    "page at most": (lambda q, n: q.sqs.list_queues(MaxResults=n), 1_000, 1_001, INVALID),
    "tasks at least": (
        lambda q, n: q.sqs.list_message_move_tasks(SourceArn=q.arn, MaxResults=n),
        1,
        0,
        INVALID,
    ),
    "tasks at most": (
        lambda q, n: q.sqs.list_message_move_tasks(SourceArn=q.arn, MaxResults=n),
        10,
        11,
        INVALID,
    ),
    "rate at least": (move, 1, 0, INVALID),
    "rate at most": (move, 500, 501, INVALID),
}


def test_the_edge_of_a_limit_is_accepted_and_one_past_it_is_not(lenient: Any) -> None:
    for name, (do, last, past, code) in EDGES.items():
        queue = Queue.create(lenient)
        with pytest.raises(ClientError) as failure:
            do(queue, past)
        assert error_code(failure.value) == code, name
        assert failure.value.response["Error"]["Message"], name
        answer = do(queue, last)
        assert not isinstance(answer, dict) or "Failed" not in answer, name


def test_a_page_that_nobody_was_told_of_is_refused(lenient: Any) -> None:
    for token in ("☃", "-1", "_w==", "A" * 9_999):
        with pytest.raises(ClientError) as failure:
            lenient.list_queues(NextToken=token, MaxResults=5)
        assert error_code(failure.value) == INVALID, token
