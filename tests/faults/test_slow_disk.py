"""While a sync takes its time, nothing is promised, and nobody else is kept waiting."""

import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest
from tests.harness.node import Node
from tests.harness.stored import TOPIC, create, read_from, store, value_of
from tests.harness.strace import inject, needs_strace
from tests.harness.wire import Wire, batch_of

SYNC_SECONDS = 4.0
"""Long enough for others to be served meanwhile, however slow the machine is."""
SHORT_SYNC_SECONDS = 0.4
WRITERS = 50

pytestmark = needs_strace


@pytest.fixture
def slow_node(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Node]:
    """A node with one stored record, to which each sync of the topic's segment takes long."""
    node = Node(tmp_path, {"log.checkpoint.interval.ms": 86_400_000}).start()
    create(node)
    create(node, "unsynced", durability="os")
    store(node, 1)
    node.stop()
    (segment,) = node.segments(TOPIC)
    node.wrapper = inject(segment, "fdatasync", f"delay_enter={int(request.param * 1e6)}")
    with node:
        yield node


long_sync = pytest.mark.parametrize("slow_node", [SYNC_SECONDS], indirect=True)
short_sync = pytest.mark.parametrize("slow_node", [SHORT_SYNC_SECONDS], indirect=True)


@short_sync
def test_an_acknowledgement_comes_after_the_sync(slow_node: Node) -> None:
    started = time.monotonic()
    store(slow_node, 1, first=1)
    assert time.monotonic() - started >= SHORT_SYNC_SECONDS


@long_sync
def test_what_is_not_durable_cannot_be_read(slow_node: Node) -> None:
    writer = Thread(target=store, args=(slow_node, 1), kwargs={"first": 1})
    writer.start()
    time.sleep(SYNC_SECONDS / 4)
    assert read_from(slow_node, 0) == (0, [0])
    writer.join()
    assert read_from(slow_node, 0) == (0, [0, 1])


@long_sync
def test_others_do_not_wait_for_the_sync(slow_node: Node) -> None:
    with Wire(slow_node.kafka) as wire:
        wire.fetch("unsynced", 0, 0)
        writer = Thread(target=store, args=(slow_node, 1), kwargs={"first": 1})
        writer.start()
        time.sleep(SYNC_SECONDS / 8)
        assert wire.fetch("unsynced", 0, 0)[0] == 0
        assert wire.produce("unsynced", 0, batch_of([value_of(0)])) == (0, 0)
        assert writer.is_alive()
        writer.join()


@short_sync
def test_what_arrives_during_a_sync_shares_the_next_one(slow_node: Node) -> None:
    def write(each: int) -> None:
        with Wire(slow_node.kafka) as wire:
            assert wire.produce(TOPIC, 0, batch_of([b"%d" % each]))[0] == 0

    threads = [Thread(target=write, args=(each,)) for each in range(WRITERS)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started < WRITERS * SHORT_SYNC_SECONDS / 2
