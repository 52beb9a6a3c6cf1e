"""A driver is killed at a random point of a random batch, and its successor goes on."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession
from tests.harness.node import Node
from tests.harness.spark_copy import copying, start_driver
from tests.spark.conftest import Produce
from tests.spark.test_sink import values

RECORDS = 400
RECORDS_PER_BATCH = "200"
BATCH_SECONDS = 2.0
"""About as long as a micro-batch takes; the kill comes somewhere within."""
DRIVER_SECONDS_MAX = 120.0


def test_a_killed_driver_leaves_each_record_once(
    spark: SparkSession,
    node: Node,
    new_topic: Callable[..., str],
    produce: Produce,
    checkpoint: Path,
    tmp_path: Path,
) -> None:
    source, target = new_topic(), new_topic()
    produce(source, RECORDS, batch=20)
    query = (node.kafka, source, target, str(checkpoint), RECORDS_PER_BATCH)
    driver = start_driver("local[2]", *query, log=tmp_path / "driver.log")
    try:
        deadline = time.monotonic() + DRIVER_SECONDS_MAX
        while not values(node, target) and time.monotonic() < deadline:
            assert driver.poll() is None, (tmp_path / "driver.log").read_text()[-4_000:]
            time.sleep(0.2)
        time.sleep(random.uniform(0, BATCH_SECONDS))
    finally:
        if driver.poll() is None:
            os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    copying(spark, *query).awaitTermination(DRIVER_SECONDS_MAX)
    assert values(node, target) == {str(number): 1 for number in range(RECORDS)}
