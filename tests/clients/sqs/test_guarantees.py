"""The three delivery guarantees, each as a consumer or producer in trouble has it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError
from tests.harness.node import Node
from tests.harness.sqs import Queue, client

AT_MOST_ONCE = {"duolog:Delivery": "at-most-once"}
ORDER = {"MessageGroupId": "g", "MessageDeduplicationId": "order"}
DELETED = {"MessageGroupId": "g", "MessageDeduplicationId": "deleted"}


def test_at_least_once(modern_sqs: Any) -> None:
    """Who receives and says nothing more leaves the message for the next."""
    queue = Queue.create(modern_sqs, VisibilityTimeout=1)
    queue.send("work")
    queue.receive_one()
    message = queue.receive_one()
    assert message["Body"] == "work"
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)


def test_at_most_once(modern_sqs: Any) -> None:
    """What was handed out is gone, whatever becomes of it."""
    queue = Queue.create(modern_sqs, **AT_MOST_ONCE, VisibilityTimeout=0)
    assert queue.attributes()["duolog:Delivery"] == "at-most-once"
    queue.send_all(["a", "b", "c"])
    message = queue.receive_one()
    assert message["Body"] == "a"
    assert queue.counts() == (2, 0, 0)
    queue.delete(message)
    assert queue.bodies() == ["b", "c"]
    assert queue.receive() == []


def test_exactly_once(modern_sqs: Any) -> None:
    """A send that is tried again adds nothing, and a receipt settles one delivery, once."""
    queue = Queue.create(modern_sqs, FifoQueue=True)
    first = queue.send("order", **ORDER)
    assert queue.send("order", **ORDER)["MessageId"] == first["MessageId"]
    late = queue.receive_one()
    assert queue.receive() == []
    queue.hide(late, 0)
    with pytest.raises(ClientError):
        queue.delete(late)
    queue.delete(queue.receive_one())
    queue.send("order", **ORDER)
    assert queue.counts() == (0, 0, 0)


class Survivors(NamedTuple):
    """One queue of each kind, after the node was killed, and what was known before."""

    at_least_once: Queue
    at_most_once: Queue
    exactly_once: Queue
    held: dict[str, Any]
    order_id: str


@pytest.fixture(scope="module")
def survivors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survivors]:
    with Node(tmp_path_factory.mktemp("guarantees")) as node:
        sqs = client(node.sqs)
        at_least = Queue.create(sqs)
        at_least.send_all(["given back", "deleted", "held"])
        held = {message["Body"]: message for message in at_least.receive()}
        at_least.delete(held["deleted"])
        at_least.hide(held["given back"], 0)
        at_most = Queue.create(sqs, **AT_MOST_ONCE)
        at_most.send_all(["received", "waiting"])
        at_most.receive_one()
        exactly = Queue.create(sqs, FifoQueue=True)
        exactly.send("deleted", **DELETED)
        exactly.delete(exactly.receive_one())
        order_id = exactly.send("order", **ORDER)["MessageId"]
        node.kill()
        node.start()
        yield Survivors(at_least, at_most, exactly, held["held"], order_id)


def test_at_least_once_over_a_crash(survivors: Survivors) -> None:
    queue = survivors.at_least_once
    assert queue.counts() == (1, 1, 0)
    message = queue.receive_one()
    assert message["Body"] == "given back"
    assert message["Attributes"]["ApproximateReceiveCount"] == "2"
    queue.delete(survivors.held)
    assert queue.counts() == (0, 1, 0)


def test_at_most_once_over_a_crash(survivors: Survivors) -> None:
    assert survivors.at_most_once.bodies() == ["waiting"]
    assert survivors.at_most_once.receive() == []


def test_exactly_once_over_a_crash(survivors: Survivors) -> None:
    queue = survivors.exactly_once
    assert queue.send("order", **ORDER)["MessageId"] == survivors.order_id
    queue.send("deleted", **DELETED)
    message = queue.receive_one()
    assert message["Body"] == "order"
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)
