"""DeleteMessage, ChangeMessageVisibility and their batches settle deliveries, one by one."""

from typing import Any

import pytest
from tests.fakes.queues import NOW_MS, FakeQueue
from tests.unit.sqs_api.workbench import Workbench, url

from duolog.core.queues.message import Message
from duolog.model.errors import StorageFailed

MISTAKES = [
    ([], "EmptyBatchRequest"),
    ([f"e{number}" for number in range(11)], "TooManyEntriesInBatchRequest"),
    (["a", "a"], "BatchEntryIdsNotDistinct"),
    (["a b"], "InvalidBatchEntryId"),
]


@pytest.fixture
def queue(sqs: Workbench) -> FakeQueue:
    """Three messages in flight."""
    queue = sqs.queues.make("q")
    for _ in range(3):
        queue.put(Message("x", {}, None, NOW_MS))
    queue.receive(count=3, wait_ms=0, visibility_ms=None, attempt=None, done=lambda result: None)
    return queue


async def delete(sqs: Workbench, handle: str) -> dict[str, Any]:
    return await sqs.call("DeleteMessage", QueueUrl=url("q"), ReceiptHandle=handle)


async def test_a_message_is_deleted(sqs: Workbench, queue: FakeQueue) -> None:
    assert await delete(sqs, "receipt-1-1") == {}
    assert sorted(queue.stored) == [0, 2]


async def test_a_forged_receipt_deletes_nothing(sqs: Workbench, queue: FakeQueue) -> None:
    for action, more in (
        ("DeleteMessage", {}),
        ("ChangeMessageVisibility", {"VisibilityTimeout": 0}),
    ):
        refusal = await sqs.refusal(action, QueueUrl=url("q"), ReceiptHandle="forged", **more)
        assert (refusal.status, refusal.code) == (400, "ReceiptHandleIsInvalid")
    assert len(queue.stored) == 3


async def test_a_batch_deletes_what_it_can(sqs: Workbench, queue: FakeQueue) -> None:
    result = await sqs.call(
        "DeleteMessageBatch",
        QueueUrl=url("q"),
        Entries=[
            {"Id": "a", "ReceiptHandle": "receipt-0-1"},
            {"Id": "b", "ReceiptHandle": "forged"},
            {"Id": "c", "ReceiptHandle": "receipt-2-1"},
        ],
    )
    assert result["Successful"] == [{"Id": "a"}, {"Id": "c"}]
    (failed,) = result["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == (
        "b",
        "ReceiptHandleIsInvalid",
        True,
    )
    assert list(queue.stored) == [1]


@pytest.mark.parametrize("seconds", [0, 43_200])
async def test_visibility_is_changed(sqs: Workbench, queue: FakeQueue, seconds: int) -> None:
    result = await sqs.call(
        "ChangeMessageVisibility",
        QueueUrl=url("q"),
        ReceiptHandle="receipt-1-1",
        VisibilityTimeout=seconds,
    )
    assert result == {}
    assert queue.visibility_changes == [("receipt-1-1", seconds * 1000)]


@pytest.mark.parametrize("seconds", [-1, 43_201])
async def test_visibility_has_bounds(sqs: Workbench, queue: FakeQueue, seconds: int) -> None:
    refusal = await sqs.refusal(
        "ChangeMessageVisibility",
        QueueUrl=url("q"),
        ReceiptHandle="receipt-1-1",
        VisibilityTimeout=seconds,
    )
    assert refusal.code == "InvalidParameterValue"
    assert queue.visibility_changes == []


async def test_what_is_not_in_flight_cannot_be_hidden_longer(
    sqs: Workbench, queue: FakeQueue
) -> None:
    queue.stored[0].is_in_flight = False
    refusal = await sqs.refusal(
        "ChangeMessageVisibility",
        QueueUrl=url("q"),
        ReceiptHandle="receipt-0-1",
        VisibilityTimeout=5,
    )
    assert refusal.code == "AWS.SimpleQueueService.MessageNotInflight"


async def test_a_batch_changes_what_it_can(sqs: Workbench, queue: FakeQueue) -> None:
    queue.stored[2].is_in_flight = False
    result = await sqs.call(
        "ChangeMessageVisibilityBatch",
        QueueUrl=url("q"),
        Entries=[
            {"Id": "a", "ReceiptHandle": "receipt-0-1", "VisibilityTimeout": 43_201},
            {"Id": "b", "ReceiptHandle": "receipt-1-1", "VisibilityTimeout": 43_200},
            {"Id": "c", "ReceiptHandle": "receipt-2-1", "VisibilityTimeout": 5},
            {"Id": "d", "ReceiptHandle": "receipt-0-1"},
        ],
    )
    assert result["Successful"] == [{"Id": "b"}]
    assert {each["Id"]: each["Code"] for each in result["Failed"]} == {
        "a": "InvalidParameterValue",
        "c": "AWS.SimpleQueueService.MessageNotInflight",
        "d": "MissingParameter",
    }


async def test_a_batch_of_nothing_but_mistakes_changes_nothing(
    sqs: Workbench, queue: FakeQueue
) -> None:
    result = await sqs.call(
        "ChangeMessageVisibilityBatch",
        QueueUrl=url("q"),
        Entries=[{"Id": "a", "ReceiptHandle": "receipt-0-1", "VisibilityTimeout": -1}],
    )
    assert [each["Id"] for each in result["Failed"]] == ["a"]
    assert queue.visibility_changes == []


@pytest.mark.parametrize(("ids", "code"), MISTAKES)
@pytest.mark.parametrize("action", ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"])
async def test_batches_have_the_same_rules(
    sqs: Workbench, queue: FakeQueue, action: str, ids: list[str], code: str
) -> None:
    entries = [{"Id": each, "ReceiptHandle": "receipt-0-1"} for each in ids]
    refusal = await sqs.refusal(action, QueueUrl=url("q"), Entries=entries)
    assert refusal.code == f"AWS.SimpleQueueService.{code}"


@pytest.mark.parametrize(
    ("action", "parameters"),
    [
        ("DeleteMessage", {"ReceiptHandle": "receipt-0-1"}),
        ("DeleteMessageBatch", {"Entries": [{"Id": "a", "ReceiptHandle": "receipt-0-1"}]}),
        ("ChangeMessageVisibility", {"ReceiptHandle": "receipt-0-1", "VisibilityTimeout": 1}),
        (
            "ChangeMessageVisibilityBatch",
            {"Entries": [{"Id": "a", "ReceiptHandle": "receipt-0-1", "VisibilityTimeout": 1}]},
        ),
        ("ReceiveMessage", {}),
    ],
)
async def test_an_engine_that_fails_fails_the_request(
    sqs: Workbench, queue: FakeQueue, action: str, parameters: dict[str, Any]
) -> None:
    queue.failure = StorageFailed("disk")
    refusal = await sqs.refusal(action, QueueUrl=url("q"), **parameters)
    assert (refusal.status, refusal.code) == (503, "ServiceUnavailable")
