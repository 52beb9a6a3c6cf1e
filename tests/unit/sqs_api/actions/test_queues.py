"""Making, finding, describing, changing, purging and deleting queues."""

import json
from typing import Any

import pytest
from tests.fakes.queues import NOW_MS
from tests.unit.sqs_api.workbench import ACCOUNT, Workbench, arn, url

from duolog.config.queue import READ_ONLY_ATTRIBUTES
from duolog.core.queues.message import Message

NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"

OF_A_QUEUE: list[tuple[str, dict[str, Any]]] = [
    ("AddPermission", {"Label": "l", "AWSAccountIds": [ACCOUNT], "Actions": ["SendMessage"]}),
    ("ChangeMessageVisibility", {"ReceiptHandle": "r", "VisibilityTimeout": 1}),
    ("ChangeMessageVisibilityBatch", {"Entries": [{"Id": "a", "ReceiptHandle": "r"}]}),
    ("DeleteMessage", {"ReceiptHandle": "r"}),
    ("DeleteMessageBatch", {"Entries": [{"Id": "a", "ReceiptHandle": "r"}]}),
    ("DeleteQueue", {}),
    ("GetQueueAttributes", {}),
    ("ListDeadLetterSourceQueues", {}),
    ("ListQueueTags", {}),
    ("PurgeQueue", {}),
    ("ReceiveMessage", {}),
    ("RemovePermission", {"Label": "l"}),
    ("SendMessage", {"MessageBody": "x"}),
    ("SendMessageBatch", {"Entries": [{"Id": "a", "MessageBody": "x"}]}),
    ("SetQueueAttributes", {"Attributes": {"DelaySeconds": "1"}}),
    ("TagQueue", {"Tags": {"a": "b"}}),
    ("UntagQueue", {"TagKeys": ["a"]}),
]


@pytest.mark.parametrize(("action", "parameters"), OF_A_QUEUE)
async def test_a_queue_has_to_be_there(
    sqs: Workbench, action: str, parameters: dict[str, Any]
) -> None:
    for address in (url("nowhere"), "http://localhost/what/is/this", "http://h/999999999999/q"):
        refusal = await sqs.refusal(action, QueueUrl=address, **parameters)
        assert (refusal.status, refusal.code) == (400, NO_QUEUE)


async def test_a_queue_is_made_with_attributes_and_tags(sqs: Workbench) -> None:
    result = await sqs.call(
        "CreateQueue", QueueName="q", Attributes={"DelaySeconds": "5"}, tags={"team": "blue"}
    )
    assert result == {"QueueUrl": url("q")}
    entry = sqs.queues.get("q").entry
    assert (entry.attributes, entry.tags) == ({"DelaySeconds": "5"}, {"team": "blue"})


async def test_making_it_again_is_no_mistake_unless_it_differs(sqs: Workbench) -> None:
    for _ in range(2):
        await sqs.call("CreateQueue", QueueName="q", Attributes={"DelaySeconds": "5"})
    refusal = await sqs.refusal("CreateQueue", QueueName="q", Attributes={"DelaySeconds": "6"})
    assert (refusal.status, refusal.code) == (400, "QueueAlreadyExists")


@pytest.mark.parametrize("name", ["", "a" * 81, "a b", "a.b", "a/b"])
async def test_a_queue_needs_a_good_name(sqs: Workbench, name: str) -> None:
    refusal = await sqs.refusal("CreateQueue", QueueName=name)
    assert refusal.code in ("InvalidParameterValue", "MissingParameter")


async def test_attributes_that_no_queue_has_are_refused(sqs: Workbench) -> None:
    refusal = await sqs.refusal("CreateQueue", QueueName="q", Attributes={"Colour": "red"})
    assert refusal.code == "InvalidAttributeName"
    refusal = await sqs.refusal("CreateQueue", QueueName="q", Attributes={"DelaySeconds": "901"})
    assert refusal.code == "InvalidAttributeValue"


async def test_a_queue_is_found_by_its_name(sqs: Workbench) -> None:
    sqs.queues.make("q")
    assert await sqs.call("GetQueueUrl", QueueName="q") == {"QueueUrl": url("q")}
    same = await sqs.call("GetQueueUrl", QueueName="q", QueueOwnerAWSAccountId=ACCOUNT)
    assert same == {"QueueUrl": url("q")}
    for asked in ({"QueueName": "p"}, {"QueueName": "q", "QueueOwnerAWSAccountId": "1" * 12}):
        assert (await sqs.refusal("GetQueueUrl", **asked)).code == NO_QUEUE


async def test_a_queue_is_deleted(sqs: Workbench) -> None:
    sqs.queues.make("q")
    assert await sqs.call("DeleteQueue", QueueUrl=url("q")) == {}
    assert sqs.queues.queues == {}


async def test_a_queue_is_purged_now_and_then(sqs: Workbench) -> None:
    sqs.queues.make("q").put(Message("x", {}, None, NOW_MS))
    assert await sqs.call("PurgeQueue", QueueUrl=url("q")) == {}
    assert sqs.queues.get("q").stored == {}
    refusal = await sqs.refusal("PurgeQueue", QueueUrl=url("q"))
    assert (refusal.status, refusal.code) == (
        403,
        "AWS.SimpleQueueService.PurgeQueueInProgress",
    )


# Attributes.


async def attributes(sqs: Workbench, queue: str, *names: str) -> dict[str, str]:
    result = await sqs.call("GetQueueAttributes", QueueUrl=url(queue), AttributeNames=list(names))
    found: dict[str, str] = result.get("Attributes", {})
    return found


async def test_all_attributes_of_a_standard_queue(sqs: Workbench) -> None:
    queue = sqs.queues.make("q")
    for _ in range(3):
        queue.put(Message("x", {}, None, NOW_MS))
    queue.stored[0].is_in_flight = True
    assert await attributes(sqs, "q", "All") == {
        "QueueArn": arn("q"),
        "CreatedTimestamp": str(NOW_MS // 1000),
        "LastModifiedTimestamp": str(NOW_MS // 1000),
        "ApproximateNumberOfMessages": "2",
        "ApproximateNumberOfMessagesNotVisible": "1",
        "ApproximateNumberOfMessagesDelayed": "0",
        "DelaySeconds": "0",
        "MaximumMessageSize": "1048576",
        "MessageRetentionPeriod": "345600",
        "ReceiveMessageWaitTimeSeconds": "0",
        "VisibilityTimeout": "30",
        "SqsManagedSseEnabled": "false",
    }


async def test_all_attributes_of_a_fifo_queue(sqs: Workbench) -> None:
    sqs.queues.make("q.fifo", FifoQueue="true")
    found = await attributes(sqs, "q.fifo", "All")
    assert (
        found.items()
        >= {
            "FifoQueue": "true",
            "ContentBasedDeduplication": "false",
            "DeduplicationScope": "queue",
            "FifoThroughputLimit": "perQueue",
        }.items()
    )


async def test_our_own_attributes_are_shown_where_they_are_set(sqs: Workbench) -> None:
    sqs.queues.make("q", **{"duolog:Delivery": "at-most-once"})
    found = await attributes(sqs, "q", "All")
    assert {name for name in found if name.startswith("duolog:")} == {"duolog:Delivery"}
    assert await attributes(sqs, "q", "duolog:Delivery") == {"duolog:Delivery": "at-most-once"}


async def test_attributes_by_name(sqs: Workbench) -> None:
    sqs.queues.make("q")
    assert await attributes(sqs, "q", "QueueArn", "Policy") == {"QueueArn": arn("q")}
    assert await attributes(sqs, "q") == {}
    for name in READ_ONLY_ATTRIBUTES:
        assert list(await attributes(sqs, "q", name)) == [name]


async def test_an_unknown_attribute_is_refused(sqs: Workbench) -> None:
    sqs.queues.make("q")
    refusal = await sqs.refusal(
        "GetQueueAttributes", QueueUrl=url("q"), AttributeNames=["All", "Colour"]
    )
    assert refusal.code == "InvalidAttributeName"


async def test_attributes_are_set(sqs: Workbench) -> None:
    sqs.queues.make("q")
    await sqs.call("SetQueueAttributes", QueueUrl=url("q"), Attributes={"VisibilityTimeout": "7"})
    assert await attributes(sqs, "q", "VisibilityTimeout") == {"VisibilityTimeout": "7"}


# Lists.


async def test_queues_are_listed_by_prefix(sqs: Workbench) -> None:
    for name in ("b2", "a", "b1"):
        sqs.queues.make(name)
    assert await sqs.call("ListQueues") == {"QueueUrls": [url("a"), url("b1"), url("b2")]}
    assert await sqs.call("ListQueues", QueueNamePrefix="b") == {
        "QueueUrls": [url("b1"), url("b2")]
    }
    assert await sqs.call("ListQueues", QueueNamePrefix="c") == {}


async def test_a_list_has_pages_for_who_asks_for_them(sqs: Workbench) -> None:
    for number in range(5):
        sqs.queues.make(f"q{number}")
    found, token = [], None
    for _ in range(3):
        more = {} if token is None else {"NextToken": token}
        page = await sqs.call("ListQueues", MaxResults=2, **more)
        found += page["QueueUrls"]
        token = page.get("NextToken")
    assert token is None
    assert found == [url(f"q{number}") for number in range(5)]


async def test_a_list_without_a_maximum_has_no_token_and_a_thousand_queues(
    sqs: Workbench,
) -> None:
    for number in range(1_001):
        sqs.queues.make(f"q{number}")
    page = await sqs.call("ListQueues")
    assert len(page["QueueUrls"]) == 1_000
    assert "NextToken" not in page
    assert len((await sqs.call("ListQueues", MaxResults=1_000))["QueueUrls"]) == 1_000


@pytest.mark.parametrize(
    "parameters",
    [
        {"MaxResults": 0},
        {"MaxResults": 1_001},
        {"NextToken": "\u00e9"},
        {"NextToken": "_w=="},
        {"NextToken": "a"},
        {"NextToken": ""},
        {"NextToken": "b3Jk!ZXJz"},
        {"NextToken": "b3JkZXJz\n"},
    ],
)
async def test_pages_that_cannot_be(sqs: Workbench, parameters: dict[str, Any]) -> None:
    sqs.queues.make("q")
    assert (await sqs.refusal("ListQueues", **parameters)).code == "InvalidParameterValue"
    refusal = await sqs.refusal("ListDeadLetterSourceQueues", QueueUrl=url("q"), **parameters)
    assert refusal.code == "InvalidParameterValue"


async def test_the_sources_of_a_dead_letter_queue_are_listed(sqs: Workbench) -> None:
    sqs.queues.make("dead")
    policy = json.dumps({"deadLetterTargetArn": arn("dead"), "maxReceiveCount": 3})
    for name in ("b", "a", "c"):
        sqs.queues.make(name, RedrivePolicy=policy)
    listed = await sqs.call("ListDeadLetterSourceQueues", QueueUrl=url("dead"))
    assert listed == {"queueUrls": [url("a"), url("b"), url("c")]}
    page = await sqs.call("ListDeadLetterSourceQueues", QueueUrl=url("dead"), MaxResults=2)
    assert page["queueUrls"] == [url("a"), url("b")]
    rest = await sqs.call(
        "ListDeadLetterSourceQueues",
        QueueUrl=url("dead"),
        MaxResults=2,
        NextToken=page["NextToken"],
    )
    assert rest == {"queueUrls": [url("c")]}


async def test_a_queue_without_sources_has_an_empty_list() -> None:
    sqs = Workbench("json")
    sqs.queues.make("q")
    listed = await sqs.call("ListDeadLetterSourceQueues", QueueUrl=url("q"))
    assert listed == {"queueUrls": []}
