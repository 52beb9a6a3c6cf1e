"""Any one node can go: nothing that was acknowledged is lost, and clients go on by themselves."""

import time
from pathlib import Path

import pytest
from tests.harness.cluster import Cluster
from tests.harness.load import NumberedLoad
from tests.harness.numbered import check_numbered_through
from tests.harness.queue_load import Load, under_load, wait_for_progress

PARTITIONS = 6
OUTAGE_SECONDS_MAX = 30.0


def test_every_node_can_be_killed_under_load(cluster: Cluster) -> None:
    cluster.create_topic("numbers", PARTITIONS)
    with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
        for node in cluster.nodes.values():
            load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
            node.kill()
            load.wait_for_progress(OUTAGE_SECONDS_MAX, records=500)
            node.restart()
            cluster.until_settled()
        load.finish()
    check_numbered_through(cluster.bootstrap, "numbers", load.acknowledged)
    assert min(load.acknowledged) > 0


def test_a_killed_node_is_replaced_before_its_lease_ends(tmp_path: Path) -> None:
    with Cluster(tmp_path, settings={"broker.session.timeout.ms": 120_000}) as cluster:
        cluster.create_topic("numbers", PARTITIONS)
        cluster.until_settled()
        with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
            load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
            cluster.nodes[1].kill()
            load.wait_for_progress(OUTAGE_SECONDS_MAX, records=500)
            load.finish()
        check_numbered_through(cluster.bootstrap, "numbers", load.acknowledged)


def test_a_frozen_leader_is_replaced_and_does_not_answer_when_it_wakes(cluster: Cluster) -> None:
    cluster.create_topic("numbers", PARTITIONS)
    frozen = cluster.nodes[2]
    with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=200)
        frozen.freeze()
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=500)
        time.sleep(1)
        frozen.thaw()
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=500)
        load.finish()
    cluster.until_settled()
    check_numbered_through(cluster.bootstrap, "numbers", load.acknowledged)


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_a_queue_goes_on_through_any_node_when_another_is_killed(
    cluster: Cluster, name: str
) -> None:
    load = Load(cluster, name)
    with under_load(load):
        for node in cluster.nodes.values():
            wait_for_progress([load])
            node.kill()
            wait_for_progress([load])
            node.restart()
            cluster.until_settled()
    load.finish()


def test_a_cluster_that_was_killed_as_a_whole_has_everything(cluster: Cluster) -> None:
    cluster.create_topic("numbers", PARTITIONS)
    with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=500)
        for node in cluster.nodes.values():
            node.kill()
        for node in cluster.nodes.values():
            node.spawn()
        for node in cluster.nodes.values():
            node.until_ready()
        load.wait_for_progress(30, records=500)
        load.finish()
    check_numbered_through(cluster.bootstrap, "numbers", load.acknowledged)
