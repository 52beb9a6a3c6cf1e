"""A driver is killed at a random point of a random batch, and its successor goes on."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.harness.node import Node
from tests.spark.conftest import Produce
from tests.spark.test_sink import values

ROOT = Path(__file__).parents[2]
RECORDS = 400
RECORDS_PER_BATCH = 200
BATCH_SECONDS = 2.0
"""About as long as a micro-batch takes; the kill comes somewhere within."""
DRIVER_SECONDS_MAX = 120.0


def started(node: Node, source: str, target: str, checkpoint: Path) -> subprocess.Popen[bytes]:
    """In a process group of its own, with the JVM and the Python workers that it starts."""
    command = [sys.executable, "-m", "tests.harness.spark_copy", node.kafka, source, target]
    return subprocess.Popen(
        [*command, str(checkpoint), str(RECORDS_PER_BATCH)],
        cwd=ROOT,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def test_a_killed_driver_leaves_each_record_once(
    node: Node, new_topic: Callable[..., str], produce: Produce, checkpoint: Path
) -> None:
    source, target = new_topic(), new_topic()
    produce(source, RECORDS, batch=20)
    first = started(node, source, target, checkpoint)
    try:
        deadline = time.monotonic() + DRIVER_SECONDS_MAX
        while not values(node, target) and time.monotonic() < deadline:
            assert first.poll() is None, "the driver ended by itself"
            time.sleep(0.2)
        time.sleep(random.uniform(0, BATCH_SECONDS))
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    second = started(node, source, target, checkpoint)
    try:
        assert second.wait(DRIVER_SECONDS_MAX) == 0
    finally:
        if second.poll() is None:
            os.killpg(second.pid, signal.SIGKILL)
    assert values(node, target) == {str(number): 1 for number in range(RECORDS)}
