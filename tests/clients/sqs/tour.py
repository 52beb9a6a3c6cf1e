"""Every action of the public model with every parameter it has, and what each of them does.

One function per action, named as boto3 names it. `sqs` is a boto3 client in either protocol;
whoever calls sees by itself that nothing of the model was left out.
"""

import json
import time
from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.sqs import ACCOUNT, Queue, eventually, new_name

TEXT = {"DataType": "String", "StringValue": "text"}
BYTES = {"DataType": "Binary", "BinaryValue": b"\x00\xff"}
LISTS = {"DataType": "String", "StringListValues": ["a"], "BinaryListValues": [b"b"]}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-67891233-abcdef012345678"}}
RESERVED_TRACES = (
    {"AWSTraceHeader": LISTS},
    {"AWSTraceHeader": {"DataType": "Binary", "BinaryValue": b"x"}},
)

STANDARD = {
    "DelaySeconds": 1,
    "MaximumMessageSize": 1024,
    "MessageRetentionPeriod": 60,
    "ReceiveMessageWaitTimeSeconds": 2,
    "VisibilityTimeout": 3,
    "KmsMasterKeyId": "alias/key",
    "KmsDataKeyReusePeriodSeconds": 60,
    "RedriveAllowPolicy": {"redrivePermission": "allowAll"},
    "Policy": {"Version": "2012-10-17", "Statement": []},
}
FIFO = {
    "FifoQueue": True,
    "ContentBasedDeduplication": True,
    "DeduplicationScope": "messageGroup",
    "FifoThroughputLimit": "perMessageGroupId",
    "SqsManagedSseEnabled": True,
}

SYSTEM_ATTRIBUTES = [
    "AWSTraceHeader",
    "ApproximateFirstReceiveTimestamp",
    "ApproximateReceiveCount",
    "DeadLetterQueueSourceArn",
    "MessageDeduplicationId",
    "MessageGroupId",
    "SenderId",
    "SentTimestamp",
    "SequenceNumber",
]


def has(queue: Queue, wanted: dict[str, object]) -> None:
    known = queue.attributes()
    for name, value in wanted.items():
        if isinstance(value, dict):
            assert json.loads(known[name]) == value, name
        else:
            assert known[name] == str(value).replace("True", "true"), name


def dead_letters(sqs: Any, count: int) -> tuple[Queue, Queue]:
    """A queue, and its dead-letter queue with so many messages of it."""
    dead = Queue.create(sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1}
    queue = Queue.create(sqs, RedrivePolicy=policy)
    queue.send_all([str(each) for each in range(count)])
    for message in queue.receive(count):
        queue.hide(message, 0)
    eventually(lambda: dead.counts() == (count, 0, 0))
    return queue, dead


def create_queue(sqs: Any) -> None:
    dead = Queue.create(sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 5}
    has(Queue.create(sqs, **STANDARD, RedrivePolicy=policy), {**STANDARD, "RedrivePolicy": policy})
    has(Queue.create(sqs, **FIFO), FIFO)
    url = sqs.create_queue(QueueName=new_name(), tags={"a": "b"})["QueueUrl"]
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"a": "b"}


def set_queue_attributes(sqs: Any) -> None:
    queue, dead = Queue.create(sqs), Queue.create(sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 5}
    queue.set(**STANDARD, RedrivePolicy=policy)
    has(queue, {**STANDARD, "RedrivePolicy": policy})
    fifo = Queue.create(sqs, FifoQueue=True)
    fifo.set(**FIFO)
    has(fifo, FIFO)


def get_queue_attributes(sqs: Any) -> None:
    dead = Queue.create(sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 5}
    for queue in (
        Queue.create(sqs, **STANDARD, RedrivePolicy=policy),
        Queue.create(sqs, **FIFO),
    ):
        known = queue.attributes()
        for name, text in known.items():
            asked = sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=[name])
            assert asked["Attributes"] == {name: text}


def get_queue_url(sqs: Any) -> None:
    queue = Queue.create(sqs)
    asked = sqs.get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId=ACCOUNT)
    assert asked["QueueUrl"] == queue.url


def list_queues(sqs: Any) -> None:
    prefix = new_name("toured")
    urls = [Queue.create(sqs, f"{prefix}{each}").url for each in "ab"]
    first = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=1)
    rest = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=1, NextToken=first["NextToken"])
    assert first["QueueUrls"] + rest["QueueUrls"] == urls


def list_dead_letter_source_queues(sqs: Any) -> None:
    dead = Queue.create(sqs)
    policy = {"deadLetterTargetArn": dead.arn, "maxReceiveCount": 5}
    urls = sorted(Queue.create(sqs, RedrivePolicy=policy).url for _ in range(2))
    first = sqs.list_dead_letter_source_queues(QueueUrl=dead.url, MaxResults=1)
    rest = sqs.list_dead_letter_source_queues(
        QueueUrl=dead.url, MaxResults=1, NextToken=first["NextToken"]
    )
    assert first["queueUrls"] + rest["queueUrls"] == urls


def delete_queue(sqs: Any) -> None:
    queue = Queue.create(sqs)
    sqs.delete_queue(QueueUrl=queue.url)
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=queue.name)


def purge_queue(sqs: Any) -> None:
    queue = Queue.create(sqs)
    queue.send_all(["a", "b"])
    sqs.purge_queue(QueueUrl=queue.url)
    assert queue.counts() == (0, 0, 0)


def tag_queue(sqs: Any) -> None:
    queue = Queue.create(sqs)
    sqs.tag_queue(QueueUrl=queue.url, Tags={"a": "1", "b": "2"})
    assert sqs.list_queue_tags(QueueUrl=queue.url)["Tags"] == {"a": "1", "b": "2"}


def untag_queue(sqs: Any) -> None:
    queue = Queue.create(sqs)
    sqs.tag_queue(QueueUrl=queue.url, Tags={"a": "1", "b": "2", "c": "3"})
    sqs.untag_queue(QueueUrl=queue.url, TagKeys=["a", "c"])
    assert sqs.list_queue_tags(QueueUrl=queue.url)["Tags"] == {"b": "2"}


list_queue_tags = tag_queue


def add_permission(sqs: Any) -> None:
    queue = Queue.create(sqs)
    sqs.add_permission(
        QueueUrl=queue.url,
        Label="label",
        AWSAccountIds=["111111111111"],
        Actions=["SendMessage", "ReceiveMessage"],
    )
    (statement,) = json.loads(queue.attributes()["Policy"])["Statement"]
    assert statement["Sid"] == "label"
    assert "111111111111" in json.dumps(statement["Principal"])
    assert statement["Action"] == ["SQS:SendMessage", "SQS:ReceiveMessage"]


def remove_permission(sqs: Any) -> None:
    queue = Queue.create(sqs)
    for label in ("kept", "removed"):
        sqs.add_permission(QueueUrl=queue.url, Label=label, AWSAccountIds=["1" * 12], Actions=["*"])
    sqs.remove_permission(QueueUrl=queue.url, Label="removed")
    (statement,) = json.loads(queue.attributes()["Policy"])["Statement"]
    assert statement["Sid"] == "kept"


def send_message(sqs: Any) -> None:
    queue, fifo = Queue.create(sqs), Queue.create(sqs, FifoQueue=True)
    sent = queue.send(
        "body",
        DelaySeconds=900,
        MessageAttributes={"text": TEXT, "bytes": BYTES},
        MessageSystemAttributes=TRACE,
    )
    assert queue.counts() == (0, 0, 1)
    assert len(sent["MD5OfMessageSystemAttributes"]) == len(sent["MD5OfMessageAttributes"]) == 32
    again = [fifo.send("x", MessageGroupId="g", MessageDeduplicationId="d") for _ in range(2)]
    assert again[0]["SequenceNumber"] == again[1]["SequenceNumber"]
    # AWS reserves lists, and lets the trace header be nothing but text.
    for more in (
        {"MessageAttributes": {"list": LISTS}},
        *({"MessageSystemAttributes": trace} for trace in RESERVED_TRACES),
    ):
        with pytest.raises(ClientError) as failure:
            queue.send("body", **more)
        assert failure.value.response["Error"]["Code"] == "InvalidParameterValue"


def send_message_batch(sqs: Any) -> None:
    queue, fifo = Queue.create(sqs), Queue.create(sqs, FifoQueue=True)
    attributes = {"text": TEXT, "bytes": BYTES}
    entries = [
        {"Id": "delayed", "MessageBody": "body", "DelaySeconds": 900},
        {"Id": "attributes", "MessageBody": "body", "MessageAttributes": attributes},
        {"Id": "trace", "MessageBody": "body", "MessageSystemAttributes": TRACE},
        {"Id": "list", "MessageBody": "body", "MessageAttributes": {"list": LISTS}},
    ]
    entries += [
        {"Id": f"trace{index}", "MessageBody": "body", "MessageSystemAttributes": trace}
        for index, trace in enumerate(RESERVED_TRACES)
    ]
    answer = sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    assert [each["Id"] for each in answer["Successful"]] == ["delayed", "attributes", "trace"]
    assert [each["Id"] for each in answer["Failed"]] == ["list", "trace0", "trace1"]
    assert queue.counts() == (2, 0, 1)
    ordered = {"MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "d"}
    answer = sqs.send_message_batch(
        QueueUrl=fifo.url, Entries=[{"Id": "a", **ordered}, {"Id": "b", **ordered}]
    )
    assert len({each["SequenceNumber"] for each in answer["Successful"]}) == 1


def receive_message(sqs: Any) -> None:
    queue = Queue.create(sqs)
    queue.send("a", MessageAttributes={"text": TEXT, "bytes": BYTES}, MessageSystemAttributes=TRACE)
    queue.send("b")
    (message,) = queue.receive(1, MessageAttributeNames=["text", "bytes"], VisibilityTimeout=43_200)
    assert message["MessageAttributes"] == {"text": TEXT, "bytes": BYTES}
    assert queue.counts() == (1, 1, 0)
    assert len(queue.receive(10, AttributeNames=["All"])) == 1
    started = time.monotonic()
    assert queue.receive(WaitTimeSeconds=1) == []
    assert time.monotonic() - started > 0.9
    fifo = Queue.create(sqs, FifoQueue=True)
    fifo.send("x", MessageGroupId="g", MessageDeduplicationId="d")
    first, again = (fifo.receive(ReceiveRequestAttemptId="try") for _ in range(2))
    assert first[0]["MessageId"] == again[0]["MessageId"]
    _, dead = dead_letters(sqs, 1)
    (letter,) = dead.receive(MessageSystemAttributeNames=SYSTEM_ATTRIBUTES)
    assert letter["Attributes"]["ApproximateReceiveCount"] == "1"


def delete_message(sqs: Any) -> None:
    queue = Queue.create(sqs)
    queue.send("x")
    queue.delete(queue.receive_one())
    assert queue.counts() == (0, 0, 0)


def delete_message_batch(sqs: Any) -> None:
    queue = Queue.create(sqs)
    queue.send_all(["a", "b"])
    entries = [
        {"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"]}
        for message in queue.receive()
    ]
    entries.append({"Id": "wrong", "ReceiptHandle": "wrong"})
    answer = sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries)
    assert {each["Id"] for each in answer["Successful"]} == {"a", "b"}
    assert [each["Id"] for each in answer["Failed"]] == ["wrong"]
    assert queue.counts() == (0, 0, 0)


def change_message_visibility(sqs: Any) -> None:
    queue = Queue.create(sqs)
    queue.send("x")
    queue.hide(queue.receive_one(), 0)
    assert queue.counts() == (1, 0, 0)


def change_message_visibility_batch(sqs: Any) -> None:
    queue = Queue.create(sqs)
    queue.send_all(["a", "b"])
    entries = [
        {"Id": message["Body"], "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
        for message in queue.receive()
    ]
    entries.append({"Id": "wrong", "ReceiptHandle": "wrong", "VisibilityTimeout": 0})
    answer = sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=entries)
    assert {each["Id"] for each in answer["Successful"]} == {"a", "b"}
    assert [each["Id"] for each in answer["Failed"]] == ["wrong"]
    assert queue.counts() == (2, 0, 0)


def start_message_move_task(sqs: Any) -> None:
    _, dead = dead_letters(sqs, 3)
    target = Queue.create(sqs)
    sqs.start_message_move_task(
        SourceArn=dead.arn, DestinationArn=target.arn, MaxNumberOfMessagesPerSecond=500
    )
    assert sorted(target.drain(3)) == ["0", "1", "2"]


def cancel_message_move_task(sqs: Any) -> None:
    # So many that it is still under way when it is cancelled.
    _, dead = dead_letters(sqs, 10)
    handle = sqs.start_message_move_task(SourceArn=dead.arn, MaxNumberOfMessagesPerSecond=1)
    answer = sqs.cancel_message_move_task(TaskHandle=handle["TaskHandle"])
    moved = answer["ApproximateNumberOfMessagesMoved"]
    eventually(lambda: dead.counts() == (10 - moved, 0, 0))


def list_message_move_tasks(sqs: Any) -> None:
    queue, dead = dead_letters(sqs, 10)
    target = Queue.create(sqs)
    handle = sqs.start_message_move_task(
        SourceArn=dead.arn, DestinationArn=target.arn, MaxNumberOfMessagesPerSecond=1
    )["TaskHandle"]
    (task,) = sqs.list_message_move_tasks(SourceArn=dead.arn)["Results"]
    assert (task["TaskHandle"], task["Status"]) == (handle, "RUNNING")
    sqs.cancel_message_move_task(TaskHandle=handle)
    # Where the queue has gone from which the messages came, they cannot go back.
    Queue.create(sqs, RedrivePolicy={"deadLetterTargetArn": dead.arn, "maxReceiveCount": 1})
    sqs.delete_queue(QueueUrl=queue.url)
    sqs.start_message_move_task(SourceArn=dead.arn)

    def latest() -> dict[str, Any]:
        tasks = sqs.list_message_move_tasks(SourceArn=dead.arn, MaxResults=2)["Results"]
        assert tasks[1]["Status"] == "CANCELLED"
        return dict(tasks[0])

    eventually(lambda: latest()["Status"] == "FAILED")
    assert latest()["FailureReason"]
