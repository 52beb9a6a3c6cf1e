"""AddPermission and RemovePermission keep the queue's policy in step."""

import json
from typing import Any

import pytest
from tests.unit.sqs_api.workbench import Workbench, arn, url

ALICE, BOB = "111122223333", "444455556666"


@pytest.fixture(autouse=True)
def queue(sqs: Workbench) -> None:
    sqs.queues.make("q")


async def permit(sqs: Workbench, label: str = "label", **more: Any) -> dict[str, Any]:
    return await sqs.call("AddPermission", **_asked(label, more))


def _asked(label: str, more: dict[str, Any]) -> dict[str, Any]:
    given = {"AWSAccountIds": [ALICE], "Actions": ["SendMessage"], **more}
    return {"QueueUrl": url("q"), "Label": label, **given}


async def policy(sqs: Workbench) -> Any:
    found = await sqs.call("GetQueueAttributes", QueueUrl=url("q"), AttributeNames=["Policy"])
    return json.loads(found["Attributes"]["Policy"]) if found else None


async def test_a_permission_is_a_statement_of_the_policy(sqs: Workbench) -> None:
    assert await permit(sqs) == {}
    assert await policy(sqs) == {
        "Version": "2008-10-17",
        "Id": f"{arn('q')}/SQSDefaultPolicy",
        "Statement": [
            {
                "Sid": "label",
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{ALICE}:root"},
                "Action": "SQS:SendMessage",
                "Resource": arn("q"),
            }
        ],
    }


async def test_permissions_add_up_and_go_by_their_labels(sqs: Workbench) -> None:
    await permit(sqs, "one")
    await permit(sqs, "two", AWSAccountIds=[ALICE, BOB], Actions=["SendMessage", "*"])
    two = (await policy(sqs))["Statement"][1]
    assert two["Principal"] == {"AWS": [f"arn:aws:iam::{each}:root" for each in (ALICE, BOB)]}
    assert two["Action"] == ["SQS:SendMessage", "SQS:*"]
    for label in ("one", "two"):
        assert await sqs.call("RemovePermission", QueueUrl=url("q"), Label=label) == {}
    assert await policy(sqs) is None


async def test_a_policy_that_was_written_is_added_to(sqs: Workbench) -> None:
    written = {"Version": "2012-10-17", "Statement": {"Sid": "mine", "Effect": "Deny"}}
    await sqs.call(
        "SetQueueAttributes", QueueUrl=url("q"), Attributes={"Policy": json.dumps(written)}
    )
    await permit(sqs)
    assert [each["Sid"] for each in (await policy(sqs))["Statement"]] == ["mine", "label"]
    await sqs.call("RemovePermission", QueueUrl=url("q"), Label="mine")
    assert [each["Sid"] for each in (await policy(sqs))["Statement"]] == ["label"]


async def test_a_label_is_used_once_and_removed_once(sqs: Workbench) -> None:
    await permit(sqs)
    assert (await sqs.refusal("AddPermission", **_asked("label", {}))).code == (
        "InvalidParameterValue"
    )
    refusal = await sqs.refusal("RemovePermission", QueueUrl=url("q"), Label="other")
    assert refusal.code == "InvalidParameterValue"


async def test_seven_actions_are_the_most(sqs: Workbench) -> None:
    seven = ["SendMessage", "ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"]
    seven += ["GetQueueAttributes", "GetQueueUrl", "PurgeQueue"]
    more = {"Actions": [*seven, "ListDeadLetterSourceQueues"]}
    refusal = await sqs.refusal("AddPermission", **_asked("label", more))
    assert (refusal.status, refusal.code) == (403, "OverLimit")
    await permit(sqs, Actions=seven)


async def test_twenty_statements_are_the_most(sqs: Workbench) -> None:
    for number in range(20):
        await permit(sqs, f"label{number}")
    assert (await sqs.refusal("AddPermission", **_asked("more", {}))).code == "OverLimit"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"Label": ""}, "InvalidParameterValue"),
        ({"Label": "a" * 81}, "InvalidParameterValue"),
        ({"Label": "a b"}, "InvalidParameterValue"),
        ({"AWSAccountIds": []}, "MissingParameter"),
        ({"AWSAccountIds": ["alice"]}, "InvalidParameterValue"),
        ({"Actions": []}, "MissingParameter"),
        ({"Actions": ["FlyToTheMoon"]}, "InvalidParameterValue"),
        ({"Actions": ["AddPermission"]}, "InvalidParameterValue"),
    ],
)
async def test_permissions_that_are_refused(
    sqs: Workbench, more: dict[str, Any], code: str
) -> None:
    assert (await sqs.refusal("AddPermission", **{**_asked("label", {}), **more})).code == code
    assert await policy(sqs) is None
