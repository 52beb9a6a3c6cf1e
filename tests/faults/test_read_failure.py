"""A disk that does not give back what it holds: only who asks for that is refused."""

from pathlib import Path

from tests.harness.node import Node
from tests.harness.stored import TOPIC, create, read_from, store
from tests.harness.strace import inject, needs_strace
from tests.harness.wire import Wire

STORAGE_ERROR = 56
SEGMENT_BYTES = 16 * 1024
RECORDS = 40


@needs_strace
def test_what_cannot_be_read_is_refused_and_the_rest_is_served(tmp_path: Path) -> None:
    node = Node(tmp_path, {"log.scrub.bytes.per.second": 0}).start()
    create(node, segment_bytes=SEGMENT_BYTES)
    store(node, RECORDS)
    node.stop()
    first, second, *_ = node.segments(TOPIC)
    readable_from = int(second.stem)

    node.wrapper = inject(first, "/^pread", "error=EIO")
    node.start()
    with Wire(node.kafka) as wire:
        assert wire.fetch(TOPIC, 0, 0, bytes_max=2_000)[0] == STORAGE_ERROR
        assert wire.fetch(TOPIC, 0, 1, bytes_max=2_000)[0] == STORAGE_ERROR
        assert wire.fetch(TOPIC, 0, readable_from)[0] == 0
    assert read_from(node, readable_from) == (0, list(range(readable_from, RECORDS)))
    store(node, 1, first=RECORDS)
    node.stop()

    node.wrapper = []
    with node:
        assert read_from(node, 0) == (0, list(range(RECORDS + 1)))
