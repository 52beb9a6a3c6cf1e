"""A node that waits to be let into its cluster can be told to stop."""

import time
from pathlib import Path

import pytest
from tests.harness.cluster import Cluster

from duolog.app.data_directory import CLEAN_STOP_NAME

WAITS_SECONDS_MAX = 20.0


@pytest.mark.parametrize("store", ["there", "gone"])
def test_a_node_that_joins_stops_at_once_and_does_not_hide_how_the_last_run_ended(
    tmp_path: Path, store: str
) -> None:
    # A killed node's lease keeps its next run waiting for as long.
    settings = {"broker.session.timeout.ms": 60_000}
    with Cluster(tmp_path, nodes=1, settings=settings) as cluster:
        node = cluster.nodes[1]
        node.kill()
        node.spawn()
        deadline = time.monotonic() + WAITS_SECONDS_MAX
        while "node id still registered" not in node.log_text:
            assert time.monotonic() < deadline, node.log_text
            time.sleep(0.02)
        if store == "gone":
            cluster.etcd.kill(0)
        node.stop()
        assert not (node.data / CLEAN_STOP_NAME).exists()


def test_a_stop_in_order_counts_once_the_controller_knows_of_the_one_before(
    tmp_path: Path,
) -> None:
    with Cluster(tmp_path, nodes=1) as cluster:
        node = cluster.nodes[1]
        node.kill()
        node.start()
        node.stop()
        assert (node.data / CLEAN_STOP_NAME).exists()
