"""A full disk refuses writes and nothing else, and is forgiven once there is space again."""

import time
from pathlib import Path

from tests.harness.mounts import small_file_system
from tests.harness.node import Node
from tests.harness.wire import Wire, batch_of

STORAGE_ERROR = 56
MIB = 1 << 20
DISK_BYTES = 24 * MIB
BALLAST_BYTES = 14 * MIB
VALUE_BYTES = 300_000
BATCHES_MAX = 100
TOPIC = "filling"


def value_of(number: int) -> bytes:
    return (b"%d " % number).ljust(VALUE_BYTES, b"#")


PAUSE_SECONDS = 0.2
"""Longer than a partition refuses writes after one has failed."""


def check_stored(wire: Wire, count: int) -> None:
    """Exactly the acknowledged records are there, in order."""
    for offset in range(count):
        code, data = wire.fetch(TOPIC, 0, offset)
        assert code == 0
        assert value_of(offset) in data
    assert wire.fetch(TOPIC, 0, count) == (0, b"")


def test_a_full_disk_refuses_writes_serves_reads_and_recovers(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        ballast = disk / "ballast"
        ballast.write_bytes(bytes(BALLAST_BYTES))
        settings = {"topic.segment.bytes": 4 * MIB, "log.checkpoint.interval.ms": 100}
        with Node(tmp_path / "node", settings, data=disk / "data") as node:
            with Wire(node.kafka) as wire:
                assert wire.create_topic(TOPIC) == 0
                stored = 0
                for _ in range(BATCHES_MAX):
                    code, offset = wire.produce(TOPIC, 0, batch_of([value_of(stored)]))
                    if code:
                        break
                    assert offset == stored
                    stored += 1
                assert code == STORAGE_ERROR
                assert stored > 20

                # Long enough for checkpoints, which find the disk full as well.
                time.sleep(0.5)
                check_stored(wire, stored)
                assert wire.produce(TOPIC, 0, batch_of([value_of(stored)]))[0] == STORAGE_ERROR

                ballast.unlink()
                time.sleep(PAUSE_SECONDS)
                for _ in range(5):
                    code, offset = wire.produce(TOPIC, 0, batch_of([value_of(stored)]))
                    assert (code, offset) == (0, stored)
                    stored += 1
                check_stored(wire, stored)

            node.kill()
            node.start()
            with Wire(node.kafka) as wire:
                check_stored(wire, stored)
                assert wire.produce(TOPIC, 0, batch_of([value_of(stored)])) == (0, stored)
            node.restart()
            with Wire(node.kafka) as wire:
                check_stored(wire, stored + 1)


def test_an_idempotent_producer_gets_through_a_full_disk_without_repetition(
    tmp_path: Path,
) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        ballast = disk / "ballast"
        with Node(tmp_path / "node", data=disk / "data") as node, Wire(node.kafka) as wire:
            assert wire.create_topic(TOPIC) == 0

            def produce(number: int) -> int:
                batch = batch_of(
                    [value_of(number)], producer_id=1_000, producer_epoch=0, base_sequence=number
                )
                return wire.produce(TOPIC, 0, batch)[0]

            assert [produce(number) for number in range(3)] == [0, 0, 0]
            with ballast.open("wb") as file:
                try:
                    while True:
                        file.write(bytes(MIB // 4))
                        file.flush()
                except OSError:
                    pass
            assert produce(3) == STORAGE_ERROR
            assert produce(3) == STORAGE_ERROR
            ballast.unlink()
            time.sleep(PAUSE_SECONDS)
            assert [produce(3), produce(3), produce(4)] == [0, 0, 0]
            check_stored(wire, 5)
