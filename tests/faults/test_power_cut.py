"""A power cut takes what was not synced. Everything acknowledged was."""

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.harness.load import NumberedLoad, check_numbered
from tests.harness.mounts import PowerCut
from tests.harness.node import Node
from tests.harness.wire import Wire

IMAGE_BYTES = 512 << 20
ROUNDS = int(os.environ.get("DUOLOG_POWER_CUTS", "5"))
PARTITIONS = 3


@pytest.fixture
def power(tmp_path: Path) -> Iterator[PowerCut]:
    cut = PowerCut(tmp_path / "disk", IMAGE_BYTES)
    yield cut
    cut.remove()


def test_a_power_cut_loses_nothing_acknowledged(power: PowerCut, tmp_path: Path) -> None:
    settings = {"topic.segment.bytes": 256 * 1024, "log.checkpoint.interval.ms": 100}
    node = Node(tmp_path / "node", settings, data=power.mounted / "data").start()
    chance = random.Random(ROUNDS)
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers", partitions=PARTITIONS) == 0
    with NumberedLoad(node.kafka, "numbers", PARTITIONS) as load:
        for _ in range(ROUNDS):
            load.wait_for_progress(records=200)
            time.sleep(chance.uniform(0.05, 0.4))
            # The processor stops with the disk: a sync that was under way may return without
            # having done anything, and nobody must be told that it succeeded.
            node.freeze()
            power.cut()
            node.kill()
            acknowledged = list(load.acknowledged)
            power.unmount()
            power.mount()
            node.start()
            check_numbered(node.kafka, "numbers", acknowledged)
        load.finish()
        check_numbered(node.kafka, "numbers", load.acknowledged)
    node.stop()


def test_a_node_whose_disk_dies_ends_by_itself(power: PowerCut, tmp_path: Path) -> None:
    settings = {"topic.segment.bytes": 64 * 1024, "log.checkpoint.interval.ms": 100}
    node = Node(tmp_path / "node", settings, data=power.mounted / "data").start()
    with Wire(node.kafka) as wire:
        assert wire.create_topic("numbers", partitions=PARTITIONS) == 0
    with NumberedLoad(node.kafka, "numbers", PARTITIONS) as load:
        load.wait_for_progress(records=1_000)
        power.cut()
        assert node.wait(15) == 1
    node.check_log()
    power.unmount()
    power.mount()
    node.start()
    with Wire(node.kafka) as wire:
        assert wire.fetch("numbers", 0, 0)[0] == 0
    node.stop()
