"""What all client tests use: a node alone, and then the nodes of a cluster in turn.

Every test has topics and groups of its own. DUOLOG_CLIENTS_THROUGH=alone, or 1, 2 or 3, runs
all of them through that one only. Without it, what is told in both of the SQS protocols goes
through the cluster in one of them: they differ only at a node's own door.
"""

import itertools
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from tests.harness.cluster import Cluster
from tests.harness.node import Node

SETTINGS = {"group.initial.rebalance.delay.ms": 50}
CLUSTER_SETTINGS = {**SETTINGS, "broker.session.timeout.ms": 60_000}
"""Nothing happens to its nodes, and a pause of the machine is to cost none its place."""
THROUGH = os.environ.get("DUOLOG_CLIENTS_THROUGH", "")
ALONE, CLUSTER = "alone", "cluster"

_numbers = itertools.count(1)
_turns: dict[str, int] = {}
"""Which test module was the how manieth to go through the cluster."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if THROUGH:
        return
    repeated = [each for each in items if _is_repeated(each)]
    if repeated:
        config.hook.pytest_deselected(items=repeated)
        items[:] = [each for each in items if each not in set(repeated)]


def _is_repeated(item: pytest.Item) -> bool:
    call = getattr(item, "callspec", None)
    if call is None or call.params.get("serving") != CLUSTER:
        return False
    return call.params.get("protocol") == "query"


def passes() -> list[str]:
    if not THROUGH:
        return [ALONE, CLUSTER]
    assert THROUGH in (ALONE, "1", "2", "3"), f"DUOLOG_CLIENTS_THROUGH={THROUGH} is no node"
    return [ALONE if THROUGH == ALONE else CLUSTER]


@pytest.fixture(scope="session")
def lone_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """For what is about one node: its own files, its own numbers."""
    directory: Path = tmp_path_factory.mktemp("clients")
    with Node(directory, SETTINGS) as node:
        yield node


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory: Path = tmp_path_factory.mktemp("clients-of-a-cluster")
    with Cluster(directory, settings=CLUSTER_SETTINGS) as cluster:
        cluster.until_settled()
        yield cluster


@pytest.fixture(scope="session", params=passes())
def serving(request: pytest.FixtureRequest) -> list[Node]:
    """The nodes that clients can go through; any of them must do."""
    if request.param == ALONE:
        return [request.getfixturevalue("lone_node")]
    cluster: Cluster = request.getfixturevalue("cluster")
    return list(cluster.nodes.values())


@pytest.fixture(scope="module")
def node(serving: list[Node], request: pytest.FixtureRequest) -> Node:
    """Each test module has the next one."""
    if len(serving) > 1 and THROUGH:
        return serving[int(THROUGH) - 1]
    turn = _turns.setdefault(request.module.__name__, len(_turns))
    return serving[turn % len(serving)]


@pytest.fixture
def address(node: Node) -> str:
    return node.kafka


@pytest.fixture
def addresses(serving: list[Node]) -> list[str]:
    """Of all brokers, sorted."""
    return sorted(each.kafka for each in serving)


@pytest.fixture
def topic() -> str:
    """A name that no other test uses; nothing is created."""
    return f"topic-{next(_numbers)}"


@pytest.fixture
def group() -> str:
    return f"group-{next(_numbers)}"


@pytest.fixture(scope="module")
def admin(node: Node) -> AdminClient:
    return AdminClient({"bootstrap.servers": node.kafka})
