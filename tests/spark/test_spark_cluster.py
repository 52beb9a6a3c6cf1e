"""The same job where its tasks are other processes than the driver: on a Spark cluster."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.harness.node import Node
from tests.harness.spark_cluster import SparkCluster
from tests.harness.spark_copy import start_driver
from tests.spark.conftest import Produce
from tests.spark.test_sink import values

RECORDS = 400
RECORDS_PER_BATCH = "200"
DRIVER_SECONDS_MAX = 120.0


def test_a_topic_is_copied_once_by_a_master_and_two_workers(
    node: Node,
    new_topic: Callable[..., str],
    produce: Produce,
    checkpoint: Path,
    tmp_path: Path,
) -> None:
    source, target = new_topic(), new_topic()
    produce(source, RECORDS, batch=20)
    query = (node.kafka, source, target, str(checkpoint), RECORDS_PER_BATCH)
    with SparkCluster(tmp_path / "cluster") as cluster:
        driver = start_driver(cluster.master, *query, log=tmp_path / "driver.log")
        try:
            code = driver.wait(DRIVER_SECONDS_MAX)
            assert code == 0, (tmp_path / "driver.log").read_text()[-4_000:]
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)
                driver.wait()
        # A master that hears of an executor's end before that of the job starts another.
        assert all(cluster.executors())
    assert values(node, target) == {str(number): 1 for number in range(RECORDS)}
