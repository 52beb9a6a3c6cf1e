"""How to provoke each error of the public model, and which ones nothing here can provoke."""

from collections.abc import Callable
from typing import Any

from tests.harness.sqs import ACCOUNT, REGION, Queue, new_name

Provocation = Callable[[Any, Queue], object]
"""Told a client and a fresh queue, makes the call that must be refused."""

MISSING_ARN = f"arn:aws:sqs:{REGION}:{ACCOUNT}:missing"

NOT_HERE = {
    "InvalidAddress": "an address that is none of ours names a queue that does not exist",
    "InvalidIdFormat": "AWS itself now answers ReceiptHandleIsInvalid",
    "KmsAccessDenied": "messages are not encrypted with keys of KMS",
    "KmsDisabled": "messages are not encrypted with keys of KMS",
    "KmsInvalidKeyUsage": "messages are not encrypted with keys of KMS",
    "KmsInvalidState": "messages are not encrypted with keys of KMS",
    "KmsNotFound": "messages are not encrypted with keys of KMS",
    "KmsOptInRequired": "messages are not encrypted with keys of KMS",
    "KmsThrottled": "messages are not encrypted with keys of KMS",
    "RequestThrottled": "a node has no rate limits",
}
"""Errors that no request can lead to, and why."""

NOT_OF = {
    ("ReceiveMessage", "OverLimit"): "takes 120,000 messages in flight; shown by unit tests",
    ("SetQueueAttributes", "OverLimit"): "attributes are bounded one by one",
}
"""Errors that an action has in the model and never has here, and why."""


def minimal(action: str, url: str) -> dict[str, Any]:
    """A valid request for a queue."""
    entry = {"Id": "1", "ReceiptHandle": "r"}
    more: dict[str, dict[str, Any]] = {
        "AddPermission": {"Label": "l", "AWSAccountIds": ["1" * 12], "Actions": ["*"]},
        "CancelMessageMoveTask": {"TaskHandle": "missing"},
        "ChangeMessageVisibility": {"ReceiptHandle": "r", "VisibilityTimeout": 1},
        "ChangeMessageVisibilityBatch": {"Entries": [{**entry, "VisibilityTimeout": 1}]},
        "CreateQueue": {"QueueName": new_name()},
        "DeleteMessage": {"ReceiptHandle": "r"},
        "DeleteMessageBatch": {"Entries": [entry]},
        "GetQueueUrl": {"QueueName": url.rsplit("/", 1)[1]},
        "ListMessageMoveTasks": {"SourceArn": MISSING_ARN},
        "ListQueues": {},
        "RemovePermission": {"Label": "l"},
        "SendMessage": {"MessageBody": "x"},
        "SendMessageBatch": {"Entries": [{"Id": "1", "MessageBody": "x"}]},
        "SetQueueAttributes": {"Attributes": {"DelaySeconds": "1"}},
        "StartMessageMoveTask": {"SourceArn": MISSING_ARN},
        "TagQueue": {"Tags": {"a": "b"}},
        "UntagQueue": {"TagKeys": ["a"]},
    }
    if action in WITHOUT_URL:
        return more[action]
    return {"QueueUrl": url, **more.get(action, {})}


WITHOUT_URL = (
    "CancelMessageMoveTask",
    "CreateQueue",
    "GetQueueUrl",
    "ListMessageMoveTasks",
    "ListQueues",
    "StartMessageMoveTask",
)


def _batch(name: str, **more: Any) -> dict[tuple[str, str], Provocation]:
    """The mistakes that every batch can make."""

    def entries(*ids: str) -> Provocation:
        def provoke(sqs: Any, queue: Queue) -> object:
            wanted = [{"Id": each, **more} for each in ids]
            return sqs._make_api_call(name, {"QueueUrl": queue.url, "Entries": wanted})

        return provoke

    return {
        (name, "BatchEntryIdsNotDistinct"): entries("a", "a"),
        (name, "EmptyBatchRequest"): entries(),
        (name, "InvalidBatchEntryId"): entries("a b"),
        (name, "TooManyEntriesInBatchRequest"): entries(*"abcdefghijk"),
    }


def _delete_and_create(sqs: Any, queue: Queue) -> object:
    sqs.delete_queue(QueueUrl=queue.url)
    return sqs.create_queue(QueueName=queue.name)


def _purge_twice(sqs: Any, queue: Queue) -> object:
    sqs.purge_queue(QueueUrl=queue.url)
    return sqs.purge_queue(QueueUrl=queue.url)


def _hide_what_is_visible(sqs: Any, queue: Queue) -> None:
    queue.send("x")
    queue.hide(queue.receive_one(VisibilityTimeout=0), 10)


def _move_twice(sqs: Any, queue: Queue) -> object:
    Queue.create(sqs, RedrivePolicy={"deadLetterTargetArn": queue.arn, "maxReceiveCount": 1})
    queue.send_all(list("abcdefghij"))
    target = Queue.create(sqs)
    asked = {"SourceArn": queue.arn, "DestinationArn": target.arn}
    sqs.start_message_move_task(**asked, MaxNumberOfMessagesPerSecond=1)
    return sqs.start_message_move_task(**asked)


def _send_too_much(sqs: Any, queue: Queue) -> object:
    entries = [{"Id": each, "MessageBody": "x" * 524_289} for each in "ab"]
    return sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)


PROVOCATIONS: dict[tuple[str, str], Provocation] = {
    ("AddPermission", "OverLimit"): lambda sqs, queue: sqs.add_permission(
        QueueUrl=queue.url, Label="l", AWSAccountIds=["1" * 12], Actions=["SendMessage"] * 8
    ),
    ("CancelMessageMoveTask", "ResourceNotFoundException"): (
        lambda sqs, queue: sqs.cancel_message_move_task(TaskHandle="missing")
    ),
    ("ChangeMessageVisibility", "MessageNotInflight"): _hide_what_is_visible,
    ("ChangeMessageVisibility", "ReceiptHandleIsInvalid"): (
        lambda sqs, queue: queue.hide({"ReceiptHandle": "forged"}, 1)
    ),
    ("CreateQueue", "InvalidAttributeName"): lambda sqs, queue: Queue.create(sqs, Colour="red"),
    ("CreateQueue", "InvalidAttributeValue"): (
        lambda sqs, queue: Queue.create(sqs, DelaySeconds=901)
    ),
    ("CreateQueue", "QueueDeletedRecently"): _delete_and_create,
    ("CreateQueue", "QueueNameExists"): (
        lambda sqs, queue: Queue.create(sqs, queue.name, DelaySeconds=9)
    ),
    ("DeleteMessage", "ReceiptHandleIsInvalid"): (
        lambda sqs, queue: queue.delete({"ReceiptHandle": "forged"})
    ),
    ("GetQueueAttributes", "InvalidAttributeName"): (
        lambda sqs, queue: sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["Colour"])
    ),
    ("ListMessageMoveTasks", "ResourceNotFoundException"): (
        lambda sqs, queue: sqs.list_message_move_tasks(SourceArn=MISSING_ARN)
    ),
    ("PurgeQueue", "PurgeQueueInProgress"): _purge_twice,
    ("SendMessage", "InvalidMessageContents"): lambda sqs, queue: queue.send("\ufffe"),
    ("SendMessageBatch", "BatchRequestTooLong"): _send_too_much,
    ("SetQueueAttributes", "InvalidAttributeName"): lambda sqs, queue: queue.set(Colour="red"),
    ("SetQueueAttributes", "InvalidAttributeValue"): lambda sqs, queue: queue.set(DelaySeconds=-1),
    ("StartMessageMoveTask", "ResourceNotFoundException"): (
        lambda sqs, queue: sqs.start_message_move_task(SourceArn=MISSING_ARN)
    ),
    ("StartMessageMoveTask", "UnsupportedOperation"): _move_twice,
    **_batch("ChangeMessageVisibilityBatch", ReceiptHandle="r", VisibilityTimeout=1),
    **_batch("DeleteMessageBatch", ReceiptHandle="r"),
    **_batch("SendMessageBatch", MessageBody="x"),
}
