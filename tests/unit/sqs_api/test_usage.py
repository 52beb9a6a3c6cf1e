"""What SQS clients use is counted by queue and operation, with the answer that they get."""

from tests.unit.sqs_api.workbench import Workbench, url

from duolog.model.errors import RequestTimedOut
from duolog.model.queue_errors import InvalidMessageContents

SENT, RECEIVED = ("queue", "orders", "send"), ("queue", "orders", "receive")
DELETED, OTHER = ("queue", "orders", "delete"), ("queue", "orders", "other")


async def send(sqs: Workbench, *bodies: str) -> None:
    entries = [{"Id": str(n), "MessageBody": body} for n, body in enumerate(bodies)]
    await sqs.call("SendMessageBatch", QueueUrl=url("orders"), Entries=entries)


async def test_sends_count_messages_and_the_bytes_of_their_bodies(sqs: Workbench) -> None:
    sqs.queues.make("orders")
    await sqs.call("SendMessage", QueueUrl=url("orders"), MessageBody="12345")
    await sqs.call("SendMessage", QueueUrl=url("orders"), MessageBody="é")
    await send(sqs, "123", "é12")
    assert sqs.meter.counted == {SENT: (3, 4, 5 + 2 + 3 + 4, 0)}


async def test_entries_that_are_refused_count_as_errors(sqs: Workbench) -> None:
    queue = sqs.queues.make("orders")
    queue.refuse_sends = [InvalidMessageContents("no"), None]
    await send(sqs, "123", "1234567")
    assert sqs.meter.counted == {SENT: (1, 1, 7, 1)}


async def test_a_request_that_is_refused_counts_as_an_error(sqs: Workbench) -> None:
    queue = sqs.queues.make("orders")
    await sqs.refusal("SendMessage", QueueUrl=url("orders"), MessageBody="")
    queue.failure = RequestTimedOut("nobody knows")
    await sqs.refusal("SendMessage", QueueUrl=url("orders"), MessageBody="1")
    await sqs.refusal("ReceiveMessage", QueueUrl=url("orders"))
    await sqs.refusal("ReceiveMessage", QueueUrl=url("orders"), MaxNumberOfMessages=99)
    assert sqs.meter.counted == {SENT: (2, 0, 0, 2), RECEIVED: (2, 0, 0, 2)}


async def test_receives_and_deletions_count_messages(sqs: Workbench) -> None:
    sqs.queues.make("orders")
    await sqs.call("ReceiveMessage", QueueUrl=url("orders"))
    await send(sqs, "123", "é", "12345")
    found = await sqs.call("ReceiveMessage", QueueUrl=url("orders"), MaxNumberOfMessages=10)
    handles = [each["ReceiptHandle"] for each in found["Messages"]]
    await sqs.call("DeleteMessage", QueueUrl=url("orders"), ReceiptHandle=handles[0])
    await sqs.call(
        "DeleteMessageBatch",
        QueueUrl=url("orders"),
        Entries=[
            {"Id": "1", "ReceiptHandle": handles[1]},
            {"Id": "2", "ReceiptHandle": "nonsense"},
        ],
    )
    await sqs.refusal("DeleteMessage", QueueUrl=url("orders"), ReceiptHandle="nonsense")
    assert sqs.meter.counted[RECEIVED] == (2, 3, 10, 0)
    assert sqs.meter.counted[DELETED] == (3, 2, 0, 2)


async def test_all_other_actions_on_a_queue_are_counted_as_requests(sqs: Workbench) -> None:
    await sqs.call("CreateQueue", QueueName="orders")
    await sqs.call("GetQueueUrl", QueueName="orders")
    await send(sqs, "123")
    found = await sqs.call("ReceiveMessage", QueueUrl=url("orders"))
    handle = found["Messages"][0]["ReceiptHandle"]
    await sqs.call(
        "ChangeMessageVisibility",
        QueueUrl=url("orders"),
        ReceiptHandle=handle,
        VisibilityTimeout=0,
    )
    await sqs.call("PurgeQueue", QueueUrl=url("orders"))
    await sqs.refusal(
        "SetQueueAttributes", QueueUrl=url("orders"), Attributes={"VisibilityTimeout": "x"}
    )
    await sqs.call("DeleteQueue", QueueUrl=url("orders"))
    assert sqs.meter.counted[OTHER] == (6, 0, 0, 1)


async def test_what_names_no_queue_is_not_counted(sqs: Workbench) -> None:
    await sqs.call("ListQueues")
    await sqs.refusal("SendMessage", QueueUrl=url("nowhere"), MessageBody="1")
    await sqs.refusal("GetQueueAttributes", QueueUrl=url("nowhere"))
    await sqs.refusal("GetQueueUrl", QueueName="nowhere")
    assert sqs.meter.counted == {}
