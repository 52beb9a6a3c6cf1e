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

SYNC_SECONDS = 0.4
SOON_SECONDS = 0.15

pytestmark = needs_strace


@pytest.fixture
def slow_node(tmp_path: Path) -> Iterator[Node]:
    """A node with one stored record, to which each sync of the topic's segment takes long."""
    node = Node(tmp_path, {"log.checkpoint.interval.ms": 86_400_000}).start()
    create(node)
    create(node, "unsynced", durability="os")
    store(node, 1)
    node.stop()
    (segment,) = node.segments(TOPIC)
    node.wrapper = inject(segment, "fdatasync", f"delay_enter={int(SYNC_SECONDS * 1e6)}")
    with node:
        yield node


def test_an_acknowledgement_comes_after_the_sync(slow_node: Node) -> None:
    started = time.monotonic()
    store(slow_node, 1, first=1)
    assert time.monotonic() - started >= SYNC_SECONDS


def test_what_is_not_durable_cannot_be_read(slow_node: Node) -> None:
    writer = Thread(target=store, args=(slow_node, 1), kwargs={"first": 1})
    writer.start()
    time.sleep(SYNC_SECONDS / 2)
    assert read_from(slow_node, 0) == (0, [0])
    writer.join()
    assert read_from(slow_node, 0) == (0, [0, 1])


def test_others_do_not_wait_for_the_sync(slow_node: Node) -> None:
    with Wire(slow_node.kafka) as wire:
        wire.fetch("unsynced", 0, 0)
        writer = Thread(target=store, args=(slow_node, 1), kwargs={"first": 1})
        writer.start()
        time.sleep(SYNC_SECONDS / 4)
        started = time.monotonic()
        assert wire.fetch("unsynced", 0, 0)[0] == 0
        assert wire.produce("unsynced", 0, batch_of([value_of(0)])) == (0, 0)
        assert time.monotonic() - started < SOON_SECONDS
        writer.join()


def test_what_arrives_during_a_sync_shares_the_next_one(slow_node: Node) -> None:
    writers = 10

    def write(each: int) -> None:
        with Wire(slow_node.kafka) as wire:
            assert wire.produce(TOPIC, 0, batch_of([b"%d" % each]))[0] == 0

    threads = [Thread(target=write, args=(each,)) for each in range(writers)]
    started = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - started < 4 * SYNC_SECONDS
