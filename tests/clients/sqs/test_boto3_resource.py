"""boto3's resources: queues and messages as objects."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.node import Node
from tests.harness.sqs import new_name, session


@pytest.fixture(scope="module")
def resource(node: Node, protocol: str) -> Any:
    return session(protocol).resource("sqs", endpoint_url=f"http://{node.sqs}")


def test_a_queue_and_its_messages_are_objects(resource: Any) -> None:
    name = new_name()
    queue = resource.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "60"})
    assert resource.get_queue_by_name(QueueName=name).url == queue.url
    assert queue.attributes["VisibilityTimeout"] == "60"
    author = {"author": {"DataType": "String", "StringValue": "me"}}
    sent = queue.send_message(MessageBody="one", MessageAttributes=author)
    queue.send_messages(
        Entries=[{"Id": str(each), "MessageBody": f"two {each}"} for each in range(3)]
    )
    messages = queue.receive_messages(MaxNumberOfMessages=10, MessageAttributeNames=["All"])
    assert [message.body for message in messages] == ["one", "two 0", "two 1", "two 2"]
    assert messages[0].message_id == sent["MessageId"]
    assert messages[0].message_attributes == author
    messages[0].delete()
    messages[1].change_visibility(VisibilityTimeout=0)
    (again,) = queue.receive_messages()
    assert again.body == "two 0"
    receipts = [
        {"Id": str(index), "ReceiptHandle": message.receipt_handle}
        for index, message in enumerate((again, *messages[2:]))
    ]
    assert len(queue.delete_messages(Entries=receipts)["Successful"]) == 3
    queue.reload()
    assert queue.attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
    queue.delete()
    with pytest.raises(resource.meta.client.exceptions.QueueDoesNotExist):
        queue.load()


def test_a_queue_s_settings_and_permissions_are_changed_through_it(resource: Any) -> None:
    queue = resource.create_queue(QueueName=new_name())
    queue.set_attributes(Attributes={"DelaySeconds": "5"})
    queue.add_permission(Label="l", AWSAccountIds=["111111111111"], Actions=["SendMessage"])
    queue.reload()
    assert queue.attributes["DelaySeconds"] == "5"
    assert "SQS:SendMessage" in queue.attributes["Policy"]
    queue.remove_permission(Label="l")
    queue.purge()
    with pytest.raises(ClientError):
        queue.purge()


def test_collections_of_queues_are_walked(resource: Any) -> None:
    prefix = new_name("collected")
    dead = resource.create_queue(QueueName=f"{prefix}-dead")
    arn = dead.attributes["QueueArn"]
    policy = f'{{"deadLetterTargetArn": "{arn}", "maxReceiveCount": 3}}'
    sources = [
        resource.create_queue(QueueName=f"{prefix}-{each}", Attributes={"RedrivePolicy": policy})
        for each in range(5)
    ]
    every = list(resource.queues.filter(QueueNamePrefix=prefix).page_size(2))
    assert [each.url for each in every] == [each.url for each in (*sources, dead)]
    found = list(dead.dead_letter_source_queues.page_size(2))
    assert [each.url for each in found] == [each.url for each in sources]
