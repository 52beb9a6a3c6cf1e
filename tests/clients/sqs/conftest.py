"""The SQS clients of the node that a test goes through; every test has queues of its own."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.harness.node import Node
from tests.harness.sqs import PROTOCOLS, Queue, client

NewQueue = Callable[..., Queue]


@pytest.fixture(scope="session", params=PROTOCOLS)
def protocol(request: pytest.FixtureRequest) -> str:
    """A test that depends on this is run in both."""
    return str(request.param)


@pytest.fixture(scope="module")
def sqs(node: Node, protocol: str) -> Any:
    """boto3's client, as it is and as it was before it changed to JSON."""
    return client(node.sqs, protocol)


@pytest.fixture(scope="module")
def modern_sqs(node: Node) -> Any:
    """boto3's client as it is, for what does not differ between the protocols."""
    return client(node.sqs)


@pytest.fixture
def new_queue(sqs: Any) -> NewQueue:
    def create(name: str | None = None, **attributes: object) -> Queue:
        return Queue.create(sqs, name, **attributes)

    return create


@pytest.fixture
def queue(new_queue: NewQueue) -> Queue:
    return new_queue()
