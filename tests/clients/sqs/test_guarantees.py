"""The three delivery guarantees, each as a consumer or producer in trouble has it."""

from typing import Any

import pytest
from botocore.exceptions import ClientError
from tests.harness.node import Node
from tests.harness.sqs import Queue, client, eventually


@pytest.fixture
def killable(tmp_path: Any) -> Any:
    with Node(tmp_path) as node:
        yield node


def again(node: Node, queue: Queue) -> Queue:
    """The queue, after the node was killed and started again."""
    node.kill()
    node.start()
    return Queue(client(node.sqs), f"http://{node.sqs}/{queue.url.split('/', 3)[3]}")


def test_at_least_once(modern_sqs: Any) -> None:
    """Who receives and says nothing more leaves the message for the next."""
    queue = Queue.create(modern_sqs, VisibilityTimeout=1)
    assert queue.attributes().get("duolog:Delivery") is None
    queue.send("work")
    queue.receive_one()
    message = queue.receive_one(WaitTimeSeconds=5)
    assert message["Body"] == "work"
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)


def test_at_least_once_over_a_crash(killable: Node) -> None:
    queue = Queue.create(client(killable.sqs))
    queue.send_all(["kept", "deleted", "held"])
    held = {message["Body"]: message for message in queue.receive()}
    queue.delete(held["deleted"])
    queue.hide(held["kept"], 0)
    queue = again(killable, queue)
    assert queue.counts() == (1, 1, 0)
    message = queue.receive_one()
    assert message["Body"] == "kept"
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    queue.delete(held["held"])
    assert queue.counts() == (0, 1, 0)


def test_at_most_once(modern_sqs: Any) -> None:
    """What was handed out is gone, whatever becomes of it."""
    queue = Queue.create(modern_sqs, **{"duolog:Delivery": "at-most-once"}, VisibilityTimeout=0)
    assert queue.attributes()["duolog:Delivery"] == "at-most-once"
    queue.send_all(["a", "b", "c"])
    message = queue.receive_one()
    assert message["Body"] == "a"
    assert queue.counts() == (2, 0, 0)
    queue.delete(message)
    assert queue.bodies() == ["b", "c"]
    assert queue.receive() == []


def test_at_most_once_over_a_crash(killable: Node) -> None:
    queue = Queue.create(client(killable.sqs), **{"duolog:Delivery": "at-most-once"})
    queue.send_all(["a", "b"])
    assert queue.receive_one()["Body"] == "a"
    queue = again(killable, queue)
    assert queue.bodies() == ["b"]
    assert queue.receive() == []


def test_exactly_once(killable: Node) -> None:
    """A send that is tried again after a crash adds nothing; a receipt settles once."""
    queue = Queue.create(client(killable.sqs), FifoQueue=True)
    asked = {"MessageGroupId": "g", "MessageDeduplicationId": "order-1"}
    first = queue.send("order", **asked)
    queue = again(killable, queue)
    assert queue.send("order", **asked)["MessageId"] == first["MessageId"]
    message = queue.receive_one(WaitTimeSeconds=0)
    assert queue.receive() == []
    queue.hide(message, 0)
    with pytest.raises(ClientError):
        queue.delete(message)
    current = queue.receive_one()
    queue.delete(current)
    queue = again(killable, queue)
    queue.send("order", **asked)
    queue.delete(current)
    eventually(lambda: queue.counts() == (0, 0, 0))
    assert queue.receive() == []
