"""Index files hold nothing that the segments do not: they may go, or lie, and are made again."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.harness.node import Node
from tests.harness.stored import TOPIC, create, read_from, store
from tests.harness.wire import Wire

from duolog.wire.kafka.apis import ApiKey

SEGMENT_BYTES = 16 * 1024
RECORDS = 80
LIST_OFFSETS_VERSION = 5


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    os.truncate(file, 0)


def fill_with_noise(file: Path) -> None:
    file.write_bytes(os.urandom(max(24, file.stat().st_size)))


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def offset_for_time(node: Node, timestamp_ms: int) -> int:
    with Wire(node.kafka) as wire:
        response = wire.call(
            ApiKey.LIST_OFFSETS,
            LIST_OFFSETS_VERSION,
            {
                "replica_id": -1,
                "isolation_level": 0,
                "topics": [
                    {
                        "name": TOPIC,
                        "partitions": [
                            {
                                "partition_index": 0,
                                "current_leader_epoch": -1,
                                "timestamp": timestamp_ms,
                            }
                        ],
                    }
                ],
            },
        )
    (partition,) = response.topics[0].partitions
    assert int(partition.error_code) == 0
    offset: int = partition.offset
    return offset


def timestamps(node: Node) -> dict[int, int]:
    """The first offset of each timestamp, read from the records themselves."""
    from duolog.records.iterator import iter_batches

    first: dict[int, int] = {}
    for segment in node.segments(TOPIC):
        for header, _ in iter_batches(segment.read_bytes()):
            first.setdefault(header.max_timestamp, header.base_offset)
    return first


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("spoil", [remove, empty, fill_with_noise, cut_in_half])
def test_spoiled_indexes_are_made_again(
    node: Node, spoil: Callable[[Path], None], clean: bool
) -> None:
    with node:
        create(node, segment_bytes=SEGMENT_BYTES, index_interval_bytes=2_000)
        store(node, RECORDS)
        if clean:
            node.stop()
        else:
            node.kill()
        directory = node.partition_directory(TOPIC)
        files = [*directory.glob("*.index"), *directory.glob("*.timeindex")]
        assert files
        for file in files:
            spoil(file)
        expected = timestamps(node)
        node.start()
        for offset in (0, 1, 17, 40, RECORDS - 1):
            assert read_from(node, offset) == (0, list(range(offset, RECORDS)))
        for timestamp_ms, offset in list(expected.items())[::7]:
            assert offset_for_time(node, timestamp_ms) == offset
        assert offset_for_time(node, max(expected) + 1) == -1
        assert node.metric("duolog_quarantined_batches") == 0
        store(node, 3, first=RECORDS)
