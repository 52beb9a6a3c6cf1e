"""Queues through boto3: making, finding, describing, sharing, purging and deleting them."""

import json
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.exceptions import ClientError
from tests.harness.node import Node
from tests.harness.sqs import ACCOUNT, Queue, client, error_code, new_name

from .conftest import NewQueue

DEFAULTS = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "SqsManagedSseEnabled": "false",
    "VisibilityTimeout": "30",
}


def test_a_new_queue_has_the_defaults_of_sqs(queue: Queue) -> None:
    known = queue.attributes()
    assert known.pop("QueueArn") == queue.arn
    created = int(known.pop("CreatedTimestamp"))
    assert abs(time.time() - created) < 60
    assert int(known.pop("LastModifiedTimestamp")) == created
    assert queue.counts() == (0, 0, 0)
    assert {name: text for name, text in known.items() if "Number" not in name} == DEFAULTS


def test_a_queue_s_address_has_the_host_that_the_client_used(node: Node, queue: Queue) -> None:
    assert queue.url == f"http://{node.sqs}/{ACCOUNT}/{queue.name}"
    port = urlsplit(queue.url).port
    by_name = client(f"localhost:{port}")
    url = by_name.get_queue_url(QueueName=queue.name)["QueueUrl"]
    assert url == f"http://localhost:{port}/{ACCOUNT}/{queue.name}"
    by_name.send_message(QueueUrl=url, MessageBody="x")
    assert queue.bodies() == ["x"]


def test_creating_a_queue_again_is_no_mistake_unless_it_differs(sqs: Any) -> None:
    name = new_name()
    first = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})
    assert sqs.create_queue(QueueName=name)["QueueUrl"] == first["QueueUrl"]
    again = sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "7"})
    assert again["QueueUrl"] == first["QueueUrl"]
    with pytest.raises(sqs.exceptions.QueueNameExists):
        sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "8"})


def test_a_deleted_queue_is_gone_and_its_name_cannot_be_had_for_a_while(queue: Queue) -> None:
    sqs = queue.sqs
    queue.send("x")
    sqs.delete_queue(QueueUrl=queue.url)
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        queue.receive()
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_url(QueueName=queue.name)
    with pytest.raises(sqs.exceptions.QueueDeletedRecently):
        sqs.create_queue(QueueName=queue.name)


def test_queues_are_listed_by_the_beginning_of_their_names(sqs: Any) -> None:
    prefix = new_name("listed")
    urls = [Queue.create(sqs, f"{prefix}-{each}").url for each in range(7)]
    assert sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"] == urls
    assert "QueueUrls" not in sqs.list_queues(QueueNamePrefix=f"{prefix}-none")
    page = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=3)
    assert page["QueueUrls"] == urls[:3]
    page = sqs.list_queues(QueueNamePrefix=prefix, MaxResults=4, NextToken=page["NextToken"])
    assert page["QueueUrls"] == urls[3:]
    assert "NextToken" not in page


def test_boto3_s_paginator_finds_every_queue(sqs: Any) -> None:
    prefix = new_name("paged")
    urls = [Queue.create(sqs, f"{prefix}-{each}").url for each in range(5)]
    paginator = sqs.get_paginator("list_queues")
    pages = list(paginator.paginate(QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}))
    assert [len(page["QueueUrls"]) for page in pages] == [2, 2, 1]
    assert [url for page in pages for url in page["QueueUrls"]] == urls


def test_attributes_are_set_and_asked_for_one_by_one(queue: Queue) -> None:
    queue.set(VisibilityTimeout=99, MaximumMessageSize=2048)
    asked = queue.sqs.get_queue_attributes(
        QueueUrl=queue.url, AttributeNames=["VisibilityTimeout", "MaximumMessageSize", "Policy"]
    )
    assert asked["Attributes"] == {"VisibilityTimeout": "99", "MaximumMessageSize": "2048"}
    assert "Attributes" not in queue.sqs.get_queue_attributes(QueueUrl=queue.url)
    with pytest.raises(ClientError):
        queue.send("x" * 2049)
    queue.send("x" * 2048)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VisibilityTimeout", "43201"),
        ("VisibilityTimeout", "-1"),
        ("DelaySeconds", "901"),
        ("MaximumMessageSize", "1023"),
        ("MaximumMessageSize", "1048577"),
        ("MessageRetentionPeriod", "59"),
        ("MessageRetentionPeriod", "1209601"),
        ("ReceiveMessageWaitTimeSeconds", "21"),
        ("KmsDataKeyReusePeriodSeconds", "59"),
        ("SqsManagedSseEnabled", "perhaps"),
        ("Policy", "{"),
    ],
)
def test_an_attribute_past_its_bounds_is_refused(queue: Queue, name: str, value: str) -> None:
    before = queue.attributes()
    with pytest.raises(queue.sqs.exceptions.InvalidAttributeValue):
        queue.set(**{name: value})
    with pytest.raises(queue.sqs.exceptions.InvalidAttributeValue):
        Queue.create(queue.sqs, **{name: value})
    assert queue.attributes() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RedrivePolicy", "[]"),
        ("RedrivePolicy", '{"deadLetterTargetArn": "elsewhere", "maxReceiveCount": 1}'),
        ("RedriveAllowPolicy", '{"redrivePermission": "some"}'),
    ],
)
def test_a_redrive_policy_that_says_nothing_is_refused(queue: Queue, name: str, value: str) -> None:
    with pytest.raises(ClientError) as failure:
        queue.set(**{name: value})
    assert error_code(failure.value) == "InvalidParameterValue"
    assert name not in queue.attributes()


def test_an_unknown_attribute_is_refused(queue: Queue) -> None:
    unknown = queue.sqs.exceptions.InvalidAttributeName
    with pytest.raises(unknown):
        queue.set(Colour="red")
    with pytest.raises(unknown):
        Queue.create(queue.sqs, Colour="red")
    with pytest.raises(unknown):
        queue.set(QueueArn="x")
    with pytest.raises(unknown):
        queue.sqs.get_queue_attributes(QueueUrl=queue.url, AttributeNames=["Colour"])
    with pytest.raises(unknown):
        queue.set(ContentBasedDeduplication=True)


def test_tags_come_and_go(sqs: Any) -> None:
    url = sqs.create_queue(QueueName=new_name(), tags={"team": "blue", "a b": "ü=&"})["QueueUrl"]
    sqs.tag_queue(QueueUrl=url, Tags={"team": "red", "empty": ""})
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "red", "a b": "ü=&", "empty": ""}
    sqs.untag_queue(QueueUrl=url, TagKeys=["a b", "missing"])
    assert sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"team": "red", "empty": ""}
    sqs.untag_queue(QueueUrl=url, TagKeys=["team", "empty"])
    assert "Tags" not in sqs.list_queue_tags(QueueUrl=url)
    with pytest.raises(ClientError):
        sqs.tag_queue(QueueUrl=url, Tags={"aws:mine": "x"})
    with pytest.raises(ClientError):
        sqs.tag_queue(QueueUrl=url, Tags={str(each): "x" for each in range(51)})


def test_permissions_are_statements_of_the_policy(queue: Queue) -> None:
    sqs = queue.sqs
    sqs.add_permission(
        QueueUrl=queue.url,
        Label="others",
        AWSAccountIds=["111111111111", "222222222222"],
        Actions=["SendMessage", "GetQueueUrl"],
    )
    (statement,) = json.loads(queue.attributes()["Policy"])["Statement"]
    assert statement["Sid"] == "others"
    assert statement["Principal"] == {
        "AWS": ["arn:aws:iam::111111111111:root", "arn:aws:iam::222222222222:root"]
    }
    assert statement["Action"] == ["SQS:SendMessage", "SQS:GetQueueUrl"]
    assert statement["Resource"] == queue.arn
    with pytest.raises(ClientError) as failure:
        sqs.add_permission(
            QueueUrl=queue.url, Label="others", AWSAccountIds=["1" * 12], Actions=["*"]
        )
    assert error_code(failure.value) == "InvalidParameterValue"
    sqs.remove_permission(QueueUrl=queue.url, Label="others")
    assert "Policy" not in queue.attributes()
    with pytest.raises(ClientError):
        sqs.remove_permission(QueueUrl=queue.url, Label="others")


def test_a_purged_queue_is_empty_and_can_be_used_at_once(queue: Queue) -> None:
    queue.send_all([str(each) for each in range(20)])
    queue.send("later", DelaySeconds=900)
    held = queue.receive(3)
    queue.sqs.purge_queue(QueueUrl=queue.url)
    assert queue.counts() == (0, 0, 0)
    assert queue.receive() == []
    queue.delete(held[0])
    with pytest.raises(queue.sqs.exceptions.PurgeQueueInProgress):
        queue.sqs.purge_queue(QueueUrl=queue.url)
    queue.send("new")
    assert queue.bodies() == ["new"]


def test_a_queue_of_another_account_is_not_found(sqs: Any, queue: Queue) -> None:
    asked = sqs.get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId=ACCOUNT)
    assert asked["QueueUrl"] == queue.url
    with pytest.raises(sqs.exceptions.QueueDoesNotExist):
        sqs.get_queue_url(QueueName=queue.name, QueueOwnerAWSAccountId="123456789012")


@pytest.mark.parametrize("name", ["", "a b", "a/b", "ü", "x" * 81, "a.b", ".fifo", "x.fifo"])
def test_a_name_that_no_queue_may_have_is_refused(sqs: Any, name: str) -> None:
    with pytest.raises(ClientError) as failure:
        sqs.create_queue(QueueName=name)
    assert error_code(failure.value) == "InvalidParameterValue"


def test_queues_can_be_encrypted_in_name(new_queue: NewQueue) -> None:
    queue = new_queue(KmsMasterKeyId="alias/mine", KmsDataKeyReusePeriodSeconds=600)
    known = queue.attributes()
    assert known["KmsMasterKeyId"] == "alias/mine"
    assert known["KmsDataKeyReusePeriodSeconds"] == "600"
    queue.send("x")
    assert queue.bodies() == ["x"]
