"""Joining a cluster: who waits for whom, and that a node that waits can be told to stop."""

import time
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.cluster import Cluster

from duolog.app.data_directory import CLEAN_STOP_NAME

WAITS_SECONDS_MAX = 20.0
FROZEN_SECONDS = 0.5
"""Far longer than a node takes from its registration to its readiness, if nobody is waited for."""


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


def test_a_node_is_ready_once_all_others_can_place_replicas_on_it(tmp_path: Path) -> None:
    # So long a lease that a frozen node counts as alive throughout.
    with Cluster(tmp_path, nodes=2, settings={"broker.session.timeout.ms": 60_000}) as cluster:
        controller = cluster.described()["controller"]
        (late,) = (node for number, node in cluster.nodes.items() if number != controller)
        third = cluster.new_node(3)
        late.freeze()
        third.spawn()
        deadline = time.monotonic() + WAITS_SECONDS_MAX
        while '"registered"' not in third.log_text:
            assert time.monotonic() < deadline, third.log_text
            time.sleep(0.02)
        time.sleep(FROZEN_SECONDS)
        assert not third.is_ready
        late.thaw()
        third.until_ready()
        admin = AdminClient({"bootstrap.servers": late.kafka})
        admin.create_topics([NewTopic("everywhere", 1, replication_factor=3)])["everywhere"].result(
            WAITS_SECONDS_MAX
        )
