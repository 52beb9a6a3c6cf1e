"""A flipped bit is found, reported and set aside. Its neighbours stay readable."""

import time

import pytest
from tests.harness.node import Node
from tests.harness.stored import (
    IN_LENGTH,
    IN_RECORDS,
    TOPIC,
    batch_positions,
    create,
    flip_bit,
    read_from,
    store,
)

CORRUPT_MESSAGE = 2
SEGMENT_BYTES = 16 * 1024
RECORDS = 60
FOUND_SECONDS_MAX = 10.0


def scrub_all_the_time(node: Node) -> None:
    node.settings |= {"log.scrub.bytes.per.second": 1 << 30, "log.scrub.interval.ms": 50}


def wait_for_quarantine(node: Node, batches: int) -> None:
    deadline = time.monotonic() + FOUND_SECONDS_MAX
    while node.metric("duolog_quarantined_batches") < batches:
        assert time.monotonic() < deadline, "the damage was not found"
        time.sleep(0.05)


def check_only_lost(node: Node, damaged: int) -> None:
    assert read_from(node, 0) == (CORRUPT_MESSAGE, list(range(damaged)))
    assert read_from(node, damaged) == (CORRUPT_MESSAGE, [])
    assert read_from(node, damaged + 1) == (0, list(range(damaged + 1, RECORDS)))
    assert "quarantined" in node.log_text


@pytest.mark.parametrize("while_running", [True, False])
def test_the_scrubber_finds_damage_in_a_sealed_segment(node: Node, while_running: bool) -> None:
    scrub_all_the_time(node)
    with node:
        create(node, segment_bytes=SEGMENT_BYTES)
        store(node, RECORDS)
        segments = node.segments(TOPIC)
        assert len(segments) > 3
        if not while_running:
            node.stop()
        positions = batch_positions(segments[1])
        damaged = sorted(positions)[3]
        size = segments[1].stat().st_size
        flip_bit(segments[1], positions[damaged])
        if not while_running:
            node.start()
        wait_for_quarantine(node, 1)
        check_only_lost(node, damaged)
        assert segments[1].stat().st_size == size, "nothing may be cut"

        node.restart()
        wait_for_quarantine(node, 1)
        assert read_from(node, damaged) == (CORRUPT_MESSAGE, [])
        assert read_from(node, damaged + 1)[0] == 0


def test_recovery_sets_damage_before_the_tail_aside(node: Node) -> None:
    with node:
        create(node)
        store(node, RECORDS)
        node.kill()
        (segment,) = node.segments(TOPIC)
        size = segment.stat().st_size
        flip_bit(segment, batch_positions(segment)[20])
        node.start()
        assert node.metric("duolog_quarantined_batches") == 1
        check_only_lost(node, 20)
        assert segment.stat().st_size == size, "nothing may be cut"
        store(node, 1, first=RECORDS)


def test_several_damages_are_set_aside_each(node: Node) -> None:
    scrub_all_the_time(node)
    with node:
        create(node, segment_bytes=SEGMENT_BYTES)
        store(node, RECORDS)
        segment = node.segments(TOPIC)[0]
        positions = batch_positions(segment)
        for offset in (0, 5):
            flip_bit(segment, positions[offset])
        wait_for_quarantine(node, 2)
        assert read_from(node, 0) == (CORRUPT_MESSAGE, [])
        assert read_from(node, 1) == (CORRUPT_MESSAGE, [1, 2, 3, 4])
        assert read_from(node, 6) == (0, list(range(6, RECORDS)))


@pytest.mark.parametrize("within", [IN_RECORDS, IN_LENGTH])
@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_damage_that_nobody_has_seen_yet_does_not_keep_a_node_from_starting(
    node: Node, clean: bool, within: int
) -> None:
    node.settings["log.checkpoint.interval.ms"] = 20
    with node:
        create(node, segment_bytes=SEGMENT_BYTES)
        store(node, RECORDS)
        time.sleep(0.2)
        if clean:
            node.stop()
        else:
            node.kill()
        segment = node.segments(TOPIC)[1]
        positions = batch_positions(segment)
        damaged = sorted(positions)[3]
        flip_bit(segment, positions[damaged], within)
        node.start()
        assert read_from(node, damaged + 1) == (0, list(range(damaged + 1, RECORDS)))
        store(node, 1, first=RECORDS)
