"""One node for all of these tests, and a look at its health after each."""

import resource
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.node import Node
from tests.harness.process import descriptor_count, resident_bytes
from tests.harness.requests import REQUESTS, TOPIC
from tests.harness.sqs import Queue, client
from tests.harness.wire import Wire

from duolog.wire.kafka.apis import ApiKey

FRAME_SECONDS_MAX = 4.0
"""For a whole request to arrive: short enough to wait for, and longer than the machine stands
still in the middle of a good one."""
SETTINGS = {
    "frame.receive.ms.max": int(1_000 * FRAME_SECONDS_MAX),
    "connections.max": 1_100,
    "response.backlog.bytes.max": 4 << 20,
    "receive.buffer.bytes.total.max": 64 << 20,
    "log.retention.check.interval.ms": 3_600_000,
}
LATENCY_SECONDS_MAX = 0.1
SETTLE_SECONDS_MAX = 30.0
MEMORY_GROWTH_BYTES_MAX = 150 << 20
SPARE_DESCRIPTORS = 8
"""Some may be open for a moment; a leak would be larger."""


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Node(tmp_path_factory.mktemp("hostile"), SETTINGS) as node:
        with Wire(node.kafka) as wire:
            assert wire.create_topic("plain", partitions=2) == 0
            assert wire.create_topic("compacted", configs={"cleanup.policy": "compact"}) == 0
            # The topic of committed offsets is made when it is first needed: now.
            assert wire.create_topic(TOPIC) == 0
            wire.call(ApiKey.FIND_COORDINATOR, 3, REQUESTS[ApiKey.FIND_COORDINATOR])
            wire.call(ApiKey.OFFSET_COMMIT, 7, REQUESTS[ApiKey.OFFSET_COMMIT])
        yield node


@pytest.fixture(autouse=True)
def stays_well(node: Node) -> Iterator[None]:
    """Whatever a test does: the node serves others, says nothing odd and leaks nothing."""
    before = descriptor_count(node.pid, beside=node.data)
    yield
    check_latency(node)
    node.check_log()
    deadline = time.monotonic() + SETTLE_SECONDS_MAX
    while (now := descriptor_count(node.pid, beside=node.data)) > before + SPARE_DESCRIPTORS:
        assert time.monotonic() < deadline, f"{now - before} descriptors leaked"
        time.sleep(0.1)
    # Which partitions are used is up to the requests, but none needs more than one file.
    of_files = descriptor_count(node.pid) - now
    assert of_files <= len(list(node.data.iterdir())) + SPARE_DESCRIPTORS


def check_latency(node: Node) -> None:
    """A well-behaved client is served at once, give or take what the machine does meanwhile."""
    with Wire(node.kafka) as wire:
        took: list[float] = []
        for _ in range(7):
            started = time.monotonic()
            wire.call(ApiKey.METADATA, 9, {"topics": None, "allow_auto_topic_creation": False})
            assert wire.produce_values("plain", [b"well"]) >= 0
            took.append(time.monotonic() - started)
    assert sorted(took)[len(took) // 2] < LATENCY_SECONDS_MAX, took


@pytest.fixture(scope="session")
def sqs(node: Node) -> Any:
    return client(node.sqs)


@pytest.fixture
def queue(sqs: Any) -> Queue:
    return Queue.create(sqs)


@pytest.fixture
def queues_stay_well(node: Node, sqs: Any) -> Iterator[None]:
    """Whatever a test does: messages go through queues as before, and memory is not lost."""
    before = resident_bytes(node.pid)
    well = Queue.create(sqs, "well")
    yield
    took: list[float] = []
    for _ in range(7):
        started = time.monotonic()
        well.send("well")
        (message,) = well.receive()
        well.delete(message)
        took.append(time.monotonic() - started)
    assert sorted(took)[len(took) // 2] < LATENCY_SECONDS_MAX, took
    assert well.counts() == (0, 0, 0)
    for url in sqs.list_queues().get("QueueUrls", []):
        if url != well.url:
            sqs.delete_queue(QueueUrl=url)
    assert resident_bytes(node.pid) - before < MEMORY_GROWTH_BYTES_MAX
