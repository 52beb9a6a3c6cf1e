"""Batches through boto3: each entry succeeds or fails by itself."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.sqs import Queue, error_code


def codes(answer: dict[str, Any]) -> dict[str, str]:
    for entry in answer["Failed"]:
        assert entry["SenderFault"] is True
        assert entry["Message"]
    return {entry["Id"]: entry["Code"] for entry in answer["Failed"]}


def ids(answer: dict[str, Any]) -> list[str]:
    return [entry["Id"] for entry in answer.get("Successful", [])]


def test_of_a_batch_to_send_what_is_wrong_fails_and_the_rest_is_sent(queue: Queue) -> None:
    entries = [
        {"Id": "good", "MessageBody": "a", "DelaySeconds": 0},
        {"Id": "empty", "MessageBody": ""},
        {"Id": "characters", "MessageBody": "\ufffe"},
        {"Id": "delay", "MessageBody": "b", "DelaySeconds": 901},
        {
            "Id": "attribute",
            "MessageBody": "c",
            "MessageAttributes": {"n": {"DataType": "Number", "StringValue": "many"}},
        },
        {"Id": "also-good_1", "MessageBody": "d"},
    ]
    answer = queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    assert ids(answer) == ["good", "also-good_1"]
    assert codes(answer) == {
        "empty": "MissingParameter",
        "characters": "InvalidMessageContents",
        "delay": "InvalidParameterValue",
        "attribute": "InvalidParameterValue",
    }
    assert queue.drain(2) == ["a", "d"]


def test_of_a_batch_to_delete_what_is_wrong_fails_and_the_rest_is_deleted(queue: Queue) -> None:
    queue.send_all(["a", "b", "c"])
    found = queue.receive(2)
    answer = queue.sqs.delete_message_batch(
        QueueUrl=queue.url,
        Entries=[
            {"Id": "1", "ReceiptHandle": found[0]["ReceiptHandle"]},
            {"Id": "2", "ReceiptHandle": "forged"},
            {"Id": "3", "ReceiptHandle": found[1]["ReceiptHandle"]},
        ],
    )
    assert ids(answer) == ["1", "3"]
    assert codes(answer) == {"2": "ReceiptHandleIsInvalid"}
    assert queue.counts() == (1, 0, 0)


def test_of_a_batch_to_hide_what_is_wrong_fails_and_the_rest_is_hidden(queue: Queue) -> None:
    queue.send_all(["a", "b", "c"])
    found = queue.receive(3)
    queue.delete(found[2])
    entries = [
        {"Id": "shown", "ReceiptHandle": found[0]["ReceiptHandle"], "VisibilityTimeout": 0},
        {"Id": "far", "ReceiptHandle": found[1]["ReceiptHandle"], "VisibilityTimeout": 43_201},
        {"Id": "forged", "ReceiptHandle": "forged", "VisibilityTimeout": 1},
        {"Id": "gone", "ReceiptHandle": found[2]["ReceiptHandle"], "VisibilityTimeout": 1},
    ]
    answer = queue.sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=entries)
    assert ids(answer) == ["shown"]
    assert codes(answer) == {
        "far": "InvalidParameterValue",
        "forged": "ReceiptHandleIsInvalid",
        "gone": "InvalidParameterValue",
    }
    assert queue.counts() == (1, 1, 0)


def test_an_answer_without_failures_does_not_speak_of_failures(queue: Queue) -> None:
    answer = queue.sqs.send_message_batch(
        QueueUrl=queue.url, Entries=[{"Id": "1", "MessageBody": "a"}]
    )
    assert "Failed" not in answer
    answer = queue.sqs.send_message_batch(
        QueueUrl=queue.url, Entries=[{"Id": "1", "MessageBody": ""}]
    )
    assert "Successful" not in answer


@pytest.mark.parametrize("action", ["send", "delete", "hide"])
def test_a_batch_that_is_wrong_as_a_whole_does_nothing(queue: Queue, action: str) -> None:
    call, more = {
        "send": (queue.sqs.send_message_batch, {"MessageBody": "a"}),
        "delete": (queue.sqs.delete_message_batch, {"ReceiptHandle": "r"}),
        "hide": (
            queue.sqs.change_message_visibility_batch,
            {"ReceiptHandle": "r", "VisibilityTimeout": 1},
        ),
    }[action]

    def refusal(*entry_ids: str) -> str:
        with pytest.raises(ClientError) as failure:
            call(QueueUrl=queue.url, Entries=[{"Id": each, **more} for each in entry_ids])
        return error_code(failure.value).removeprefix("AWS.SimpleQueueService.")

    assert refusal() == "EmptyBatchRequest"
    assert refusal(*map(str, range(11))) == "TooManyEntriesInBatchRequest"
    assert refusal("a", "b", "a") == "BatchEntryIdsNotDistinct"
    assert refusal("a", "b c") == "InvalidBatchEntryId"
    assert refusal("a", "x" * 81) == "InvalidBatchEntryId"
    assert queue.counts() == (0, 0, 0)


def test_a_batch_is_as_long_as_one_message_may_be(queue: Queue) -> None:
    entries = [{"Id": str(each), "MessageBody": "x" * 104_857} for each in range(10)]
    assert "Failed" not in queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    entries[0]["MessageBody"] += "x" * 7
    with pytest.raises(queue.sqs.exceptions.BatchRequestTooLong):
        queue.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    assert queue.counts() == (10, 0, 0)
