"""One node for all client tests; every test has topics and groups of its own."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.harness.node import Node

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory: Path = tmp_path_factory.mktemp("clients")
    with Node(directory, {"group.initial.rebalance.delay.ms": 50}) as node:
        yield node


@pytest.fixture
def address(node: Node) -> str:
    return node.kafka


@pytest.fixture
def topic() -> str:
    """A name that no other test uses; nothing is created."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def group() -> str:
    return f"group-{next(_numbers)}"


@pytest.fixture(scope="session")
def admin(node: Node) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.kafka})
