"""A sync that fails is believed: the node refuses what it could not make durable, and ends."""

import time
from pathlib import Path

from tests.harness.load import NumberedLoad, check_numbered
from tests.harness.node import Node
from tests.harness.stored import TOPIC, create, read_from, store, value_of
from tests.harness.strace import inject, needs_strace
from tests.harness.wire import Wire, batch_of

REQUEST_TIMED_OUT = 7
STORAGE_ERROR = 56
RECORDS_BEFORE = 10
SYNCS_THAT_WORK = 5


@needs_strace
def test_a_failed_sync_is_not_acknowledged_and_fatal(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    create(node)
    store(node, RECORDS_BEFORE)
    node.stop()

    (segment,) = node.segments(TOPIC)
    node.wrapper = inject(segment, "fdatasync", f"error=EIO:when={SYNCS_THAT_WORK + 1}+")
    node.start()
    stored = RECORDS_BEFORE
    with Wire(node.kafka) as wire:
        for _ in range(SYNCS_THAT_WORK + 5):
            code, offset = wire.produce(TOPIC, 0, batch_of([value_of(stored)]))
            if code:
                break
            assert offset == stored
            stored += 1
        # Not an error that says that nothing was stored: nobody knows.
        assert code == REQUEST_TIMED_OUT
    assert stored > RECORDS_BEFORE, "the fault came before anything was stored"
    assert node.wait() == 1
    assert "storage failed" in node.log_text
    node.check_log()

    node.wrapper = []
    with node:
        code, offsets = read_from(node, 0)
        assert code == 0
        # The record that was not acknowledged may be there.
        assert offsets[:stored] == list(range(stored))
        assert len(offsets) <= stored + 1


@needs_strace
def test_a_failed_write_is_refused_and_leaves_no_trace(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    create(node)
    store(node, RECORDS_BEFORE)
    node.stop()

    (segment,) = node.segments(TOPIC)
    node.wrapper = inject(segment, "/^pwrite", "error=EIO:when=3")
    node.start()
    with Wire(node.kafka) as wire:
        codes = []
        stored = RECORDS_BEFORE
        for _ in range(5):
            code, offset = wire.produce(TOPIC, 0, batch_of([value_of(stored)]))
            codes.append(code)
            if code == 0:
                assert offset == stored
                stored += 1
            else:
                # Longer than a partition refuses writes after one has failed.
                time.sleep(0.2)
    # Which of them it is depends on the calls that write: strace counts each kind by itself.
    assert sorted(codes) == [0, 0, 0, 0, STORAGE_ERROR]
    assert read_from(node, 0) == (0, list(range(stored)))
    node.wrapper = []
    node.restart()
    assert read_from(node, 0) == (0, list(range(stored)))
    node.stop()


@needs_strace
def test_an_idempotent_producer_goes_on_after_a_failed_sync(tmp_path: Path) -> None:
    node = Node(tmp_path).start()
    create(node)
    node.stop()
    (segment,) = node.segments(TOPIC)
    node.wrapper = inject(segment, "fdatasync", "error=EIO:when=20+")
    node.start()
    with NumberedLoad(node.kafka, TOPIC, 1) as load:
        load.wait_for_progress()
        assert node.wait() == 1
        node.wrapper = []
        node.start()
        load.wait_for_progress(records=1_000)
        load.finish()
        check_numbered(node.kafka, TOPIC, load.acknowledged)
    node.stop()
