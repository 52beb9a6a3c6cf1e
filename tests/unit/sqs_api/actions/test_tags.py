"""Tags of a queue come and go one by one."""

import pytest
from tests.unit.sqs_api.workbench import Workbench, url


async def tags(sqs: Workbench) -> dict[str, dict[str, str]]:
    return await sqs.call("ListQueueTags", QueueUrl=url("q"))


@pytest.fixture(autouse=True)
def queue(sqs: Workbench) -> None:
    sqs.queues.make("q")


async def test_tags_are_added_and_taken_away(sqs: Workbench) -> None:
    assert await tags(sqs) == {}
    assert await sqs.call("TagQueue", QueueUrl=url("q"), Tags={"a": "1", "b": ""}) == {}
    assert await sqs.call("TagQueue", QueueUrl=url("q"), Tags={"a": "2"}) == {}
    assert await tags(sqs) == {"Tags": {"a": "2", "b": ""}}
    assert await sqs.call("UntagQueue", QueueUrl=url("q"), TagKeys=["a", "nothing"]) == {}
    assert await tags(sqs) == {"Tags": {"b": ""}}


async def test_fifty_tags_are_taken_and_one_more_is_not(sqs: Workbench) -> None:
    fifty = {f"k{number}": "v" for number in range(50)}
    await sqs.call("TagQueue", QueueUrl=url("q"), Tags=fifty)
    await sqs.call("TagQueue", QueueUrl=url("q"), Tags={"k0": "other"})
    refusal = await sqs.refusal("TagQueue", QueueUrl=url("q"), Tags={"more": "v"})
    assert (refusal.status, refusal.code) == (403, "OverLimit")
    refusal = await sqs.refusal("CreateQueue", QueueName="p", tags={**fifty, "more": "v"})
    assert refusal.code == "OverLimit"


async def test_tags_at_the_edge_of_their_length(sqs: Workbench) -> None:
    await sqs.call("TagQueue", QueueUrl=url("q"), Tags={"k" * 128: "v" * 256})


@pytest.mark.parametrize(
    ("key", "value"), [("", "v"), ("k" * 129, "v"), ("k", "v" * 257), ("aws:k", "v")]
)
async def test_tags_past_it(sqs: Workbench, key: str, value: str) -> None:
    for action, more in (
        ("TagQueue", {"QueueUrl": url("q"), "Tags": {key: value}}),
        ("CreateQueue", {"QueueName": "p", "tags": {key: value}}),
    ):
        assert (await sqs.refusal(action, **more)).code == "InvalidParameterValue"
    assert await tags(sqs) == {}


async def test_nothing_to_tag_is_a_mistake(sqs: Workbench) -> None:
    for action, more in (("TagQueue", {"Tags": {}}), ("UntagQueue", {"TagKeys": []})):
        refusal = await sqs.refusal(action, QueueUrl=url("q"), **more)
        assert refusal.code == "MissingParameter"
