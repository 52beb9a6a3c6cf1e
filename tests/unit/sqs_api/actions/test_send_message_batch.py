"""SendMessageBatch: one entry may fail without the others, and some mistakes fail them all."""

from typing import Any

import pytest
from tests.unit.sqs_api.workbench import Workbench, url

from duolog.model.errors import StorageFailed
from duolog.model.queue_errors import InvalidParameterValue


def entry(name: str, body: str = "x", **more: Any) -> dict[str, Any]:
    return {"Id": name, "MessageBody": body, **more}


async def send(sqs: Workbench, *entries: dict[str, Any], queue: str = "q") -> dict[str, Any]:
    return await sqs.call("SendMessageBatch", QueueUrl=url(queue), Entries=list(entries))


async def refused(sqs: Workbench, *entries: dict[str, Any], queue: str = "q") -> str:
    refusal = await sqs.refusal("SendMessageBatch", QueueUrl=url(queue), Entries=list(entries))
    assert sqs.queues.get(queue).sent == []
    return refusal.code.removeprefix("AWS.SimpleQueueService.")


@pytest.fixture(autouse=True)
def queues(sqs: Workbench) -> None:
    sqs.queues.make("q")
    sqs.queues.make("f.fifo", FifoQueue="true")


async def test_ten_messages_are_sent_in_order(sqs: Workbench) -> None:
    result = await send(sqs, *(entry(f"e{number}", f"body {number}") for number in range(10)))
    assert [each["Id"] for each in result["Successful"]] == [f"e{number}" for number in range(10)]
    assert {"MessageId", "MD5OfMessageBody"} <= result["Successful"][0].keys()
    assert "Failed" not in result
    assert [sent.body for sent in sqs.queues.get("q").sent] == [f"body {n}" for n in range(10)]


async def test_eleven_are_too_many(sqs: Workbench) -> None:
    entries = [entry(f"e{number}") for number in range(11)]
    assert await refused(sqs, *entries) == "TooManyEntriesInBatchRequest"


async def test_none_are_too_few(sqs: Workbench) -> None:
    assert await refused(sqs) == "EmptyBatchRequest"


async def test_ids_tell_entries_apart(sqs: Workbench) -> None:
    assert await refused(sqs, entry("a"), entry("b"), entry("a")) == "BatchEntryIdsNotDistinct"


@pytest.mark.parametrize("name", ["", "a" * 81, "a b", "a.b", "\u00e9", "a\n"])
async def test_ids_that_are_refused(sqs: Workbench, name: str) -> None:
    assert await refused(sqs, entry(name)) == "InvalidBatchEntryId"


@pytest.mark.parametrize("name", ["a", "a" * 80, "_-9Z"])
async def test_ids_that_are_taken(sqs: Workbench, name: str) -> None:
    assert (await send(sqs, entry(name)))["Successful"][0]["Id"] == name


async def test_together_they_may_fill_a_megabyte(sqs: Workbench) -> None:
    half = "x" * 524_288
    assert await refused(sqs, entry("a", half), entry("b", half + "x")) == "BatchRequestTooLong"
    assert len((await send(sqs, entry("a", half), entry("b", half)))["Successful"]) == 2


async def test_one_entry_fails_without_the_others(sqs: Workbench) -> None:
    result = await send(
        sqs,
        entry("good"),
        entry("late", DelaySeconds=901),
        entry("odd", "\x01"),
        entry("nameless", MessageAttributes={"": {"DataType": "String", "StringValue": "x"}}),
        entry("also-good", "y"),
    )
    assert [each["Id"] for each in result["Successful"]] == ["good", "also-good"]
    failed = {each["Id"]: each for each in result["Failed"]}
    assert {name: each["Code"] for name, each in failed.items()} == {
        "late": "InvalidParameterValue",
        "odd": "InvalidMessageContents",
        "nameless": "InvalidParameterValue",
    }
    assert failed["late"]["SenderFault"] is True
    assert "901" in failed["late"]["Message"]
    assert [sent.body for sent in sqs.queues.get("q").sent] == ["x", "y"]


async def test_when_every_entry_fails_nothing_is_sent(sqs: Workbench) -> None:
    result = await send(sqs, entry("a", DelaySeconds=-1))
    assert [each["Id"] for each in result["Failed"]] == ["a"]
    assert "Successful" not in result
    assert sqs.queues.get("q").sent == []


async def test_one_entry_may_be_larger_than_the_queue_takes(sqs: Workbench) -> None:
    sqs.queues.make("small", MaximumMessageSize="1024")
    result = await send(sqs, entry("a", "x" * 1025), entry("b", "x" * 1024), queue="small")
    assert [each["Id"] for each in result["Successful"]] == ["b"]
    assert [each["Code"] for each in result["Failed"]] == ["InvalidParameterValue"]


async def test_what_the_engine_refuses_is_told_by_entry(sqs: Workbench) -> None:
    sqs.queues.get("q").refuse_sends = [None, InvalidParameterValue("no"), StorageFailed("disk")]
    result = await send(sqs, entry("a"), entry("b"), entry("c"))
    assert [each["Id"] for each in result["Successful"]] == ["a"]
    told = [(each["Id"], each["Code"], each["SenderFault"]) for each in result["Failed"]]
    assert told == [("b", "InvalidParameterValue", True), ("c", "ServiceUnavailable", False)]


async def test_an_engine_that_fails_fails_the_request(sqs: Workbench) -> None:
    sqs.queues.get("q").failure = StorageFailed("disk")
    refusal = await sqs.refusal("SendMessageBatch", QueueUrl=url("q"), Entries=[entry("a")])
    assert refusal.status == 503


async def test_one_entry_without_its_group_fails_the_request(sqs: Workbench) -> None:
    good = entry("a", MessageGroupId="g", MessageDeduplicationId="1")
    ungrouped = entry("b", MessageDeduplicationId="2")
    unnamed = entry("b", MessageGroupId="g")
    assert await refused(sqs, good, ungrouped, queue="f.fifo") == "MissingParameter"
    assert await refused(sqs, good, unnamed, queue="f.fifo") == "InvalidParameterValue"
    assert (await send(sqs, good, queue="f.fifo"))["Successful"][0]["SequenceNumber"]
