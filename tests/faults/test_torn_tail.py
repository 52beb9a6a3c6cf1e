"""A crash in the middle of a write leaves a tail that is no batch. It goes, and nothing else."""

import os

import pytest
from tests.harness.node import Node
from tests.harness.stored import TOPIC, create, read_from, store
from tests.harness.wire import batch_of

from duolog.records.header import HEADER_BYTES

TORN = {
    "noise": os.urandom(500),
    "zeros": bytes(4_096),
    "half_a_header": bytes(batch_of([b"x" * 100])[: HEADER_BYTES // 2]),
    "half_a_batch": bytes(batch_of([b"x" * 100])[:-30]),
    "a_batch_with_a_wrong_checksum": bytes(batch_of([b"x" * 100])[:-1]) + b"?",
}


@pytest.mark.parametrize("tail", TORN.values(), ids=TORN.keys())
def test_a_torn_tail_is_cut_and_writing_goes_on(node: Node, tail: bytes) -> None:
    with node:
        create(node)
        store(node, 10)
        node.kill()
        (segment,) = node.segments(TOPIC)
        size = segment.stat().st_size
        with segment.open("ab") as file:
            file.write(tail)
        node.start()
        assert segment.stat().st_size == size
        assert "torn tail" in node.log_text
        assert read_from(node, 0) == (0, list(range(10)))
        store(node, 5, first=10)
        assert read_from(node, 0) == (0, list(range(15)))


def test_a_cut_batch_costs_only_itself(node: Node) -> None:
    with node:
        create(node)
        store(node, 10)
        node.kill()
        (segment,) = node.segments(TOPIC)
        os.truncate(segment, segment.stat().st_size - 100)
        node.start()
        assert read_from(node, 0) == (0, list(range(9)))
        store(node, 3, first=9)
        assert read_from(node, 0) == (0, list(range(12)))


def test_a_file_that_ends_before_what_was_known_to_be_durable_is_reported(node: Node) -> None:
    with node:
        create(node)
        store(node, 10)
        node.stop()
        (segment,) = node.segments(TOPIC)
        os.truncate(segment, segment.stat().st_size // 2)
        node.start()
        assert '"event":"durable records are missing"' in node.log_text
        code, offsets = read_from(node, 0)
        assert code == 0
        assert offsets == list(range(len(offsets)))
        store(node, 2, first=len(offsets))
