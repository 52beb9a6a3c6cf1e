"""What must not take part in a cluster is refused, and told what to do."""

import shutil
from pathlib import Path

from tests.harness.cluster import Cluster
from tests.harness.load import NumberedLoad
from tests.harness.node import Node
from tests.harness.numbered import check_numbered_through

PARTITIONS = 3


def refused(node: Node, reason: str) -> None:
    node.spawn()
    assert node.wait(30) == 1
    assert reason in node.log_text
    node.check_log()


def test_a_clone_of_a_node_that_is_alive_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    shutil.copytree(cluster.nodes[2].data, tmp_path / "twin" / "data")
    twin = Node(tmp_path / "twin", cluster.nodes[2].settings)
    twin.peer = "127.0.0.1:0"
    refused(twin, "node 2 is alive")
    cluster.until_settled()


def test_a_data_directory_of_another_cluster_is_refused(tmp_path: Path) -> None:
    with Cluster(tmp_path / "one", nodes=1) as one, Cluster(tmp_path / "other", nodes=1) as other:
        stranger = one.nodes[1]
        stranger.stop()
        stranger.settings["store.address"] = other.etcd.address
        refused(stranger, "belongs to node 1 of cluster")


def test_a_data_directory_of_a_node_alone_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    with Node(tmp_path / "alone") as alone:
        alone.stop()
    settings = {**cluster.nodes[1].settings, "node.id": 4}
    newcomer = Node(tmp_path / "alone", settings)
    newcomer.peer = "127.0.0.1:0"
    refused(newcomer, "belongs to a node alone")


def test_a_store_that_does_not_answer_is_named(tmp_path: Path) -> None:
    node = Node(
        tmp_path, {"cluster.name": "tested", "store.address": "etcd://127.0.0.1:1", "node.id": 1}
    )
    node.peer = "127.0.0.1:0"
    refused(node, "127.0.0.1:1")


def test_a_node_on_a_network_needs_certificates(cluster: Cluster, tmp_path: Path) -> None:
    node = Node(tmp_path / "open", {**cluster.nodes[1].settings, "node.id": 4})
    node.peer = "0.0.0.0:0"
    refused(node, "duolog cluster certs")


def test_an_emptied_disk_is_refused_until_an_operator_says_that_it_is_new(
    cluster: Cluster,
) -> None:
    cluster.create_topic("numbers", PARTITIONS)
    with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
        load.wait_for_progress(15, records=500)
        emptied = cluster.nodes[3]
        emptied.kill()
        shutil.rmtree(emptied.data)
        refused(emptied, "node.disk.replaced")
        load.wait_for_progress(15, records=500)
        emptied.settings["node.disk.replaced"] = "true"
        emptied.start()
        cluster.until_settled()
        load.finish()
    # What the new disk has was copied: the others are not needed to read it.
    for number in (1, 2):
        cluster.nodes[number].stop()
        cluster.nodes[number].start()
        cluster.until_settled()
    check_numbered_through(cluster.bootstrap, "numbers", load.acknowledged)
