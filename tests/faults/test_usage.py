"""A full disk makes usage lines wait, and nothing else wait for them."""

import time
from contextlib import suppress
from pathlib import Path

from tests.harness.mounts import small_file_system
from tests.harness.node import Node
from tests.harness.usage import read_lines, until_total
from tests.harness.wire import Wire, batch_of

MIB = 1 << 20
DISK_BYTES = 24 * MIB


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file:
        for piece in (MIB // 4, 4096):
            with suppress(OSError):
                while True:
                    file.write(bytes(piece))


def test_lines_wait_for_a_full_disk_and_nobody_waits_for_them(tmp_path: Path) -> None:
    with small_file_system(tmp_path / "disk", DISK_BYTES) as disk:
        ballast = disk / "ballast"
        settings = {"usage.interval.seconds": 1}
        with Node(tmp_path / "node", settings, data=disk / "data") as node:
            with Wire(node.kafka) as wire:
                assert wire.create_topic("events") == 0
                for number in range(10):
                    assert wire.produce("events", 0, batch_of([b"x"])) == (0, number)
                fill(ballast)
                fetched = 0
                deadline = time.monotonic() + 4
                while time.monotonic() < deadline:
                    # Another file of counters cannot be made, but what is read is counted.
                    assert wire.fetch("events", 0, 0)[0] == 0
                    fetched += 10
                    time.sleep(0.05)
                ballast.unlink()
            until_total(lambda: read_lines(node.kafka), "events", "fetch", fetched)
            until_total(lambda: read_lines(node.kafka), "events", "produce", 10)
            node.kill()
            node.start()
            until_total(lambda: read_lines(node.kafka), "events", "fetch", fetched)
