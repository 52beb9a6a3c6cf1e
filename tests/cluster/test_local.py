"""`duolog cluster up` and its companions, as a user runs them."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.load import NumberedLoad
from tests.harness.local_cluster import (
    COMMAND_SECONDS_MAX,
    NODES,
    STOP_SECONDS_MAX,
    LocalCluster,
)
from tests.harness.numbered import check_numbered_through

OUTAGE_SECONDS_MAX = 20.0
PARTITIONS = 6
UNREACHABLE = 5


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    with LocalCluster(tmp_path_factory.mktemp("local")) as cluster:
        yield cluster


def test_the_ready_file_tells_who_serves_where(cluster: LocalCluster) -> None:
    print(f"three nodes were ready after {cluster.ready_seconds:.1f} s")
    described = cluster.described
    assert set(described) == {"nodes", "etcd"}
    assert [node["id"] for node in described["nodes"]] == [1, 2, 3]
    for node in described["nodes"]:
        assert set(node) == {"id", "pid", "kafka", "sqs", "admin"}
        assert node["pid"] in cluster.processes()
        assert all(node[door].startswith("127.0.0.1:") for door in ("kafka", "sqs", "admin"))
    assert len(described["etcd"]) == 1
    assert all(node["kafka"] in cluster.output.read_text() for node in described["nodes"])


def test_every_node_tells_the_same_about_the_cluster(cluster: LocalCluster) -> None:
    cluster.until_well()
    told = [cluster.nodes(node) for node in (1, 2, 3)]
    for nodes in told:
        assert all(nodes[number]["alive"] for number in (1, 2, 3))
        assert sum(node["controller"] for node in nodes.values()) == 1
        addresses = {number: node["kafka"] for number, node in nodes.items()}
        assert addresses == {node["id"]: node["kafka"] for node in cluster.described["nodes"]}


def test_a_node_is_killed_and_started_again_under_load(cluster: LocalCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    new = NewTopic("numbers", PARTITIONS, replication_factor=3)
    admin.create_topics([new])["numbers"].result(20)
    with NumberedLoad(cluster.bootstrap, "numbers", PARTITIONS) as load:
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=100)
        assert cluster.local("kill", "2").returncode == 0
        again = cluster.local("kill", "2")
        assert again.returncode != 0
        assert "does not run" in again.stderr
        load.wait_for_progress(OUTAGE_SECONDS_MAX, records=500)
        while cluster.nodes()[2]["alive"]:
            time.sleep(0.1)
        status = cluster("status")
        assert status.returncode != 0
        assert "in sync" in status.stderr
        assert cluster.local("start", "2").returncode == 0
        cluster.until_well()
        load.finish()
    check_numbered_through(cluster.bootstrap, "numbers", load.acknowledged)
    kinds = {row["kind"] for row in json.loads(cluster("events", "-o", "json").stdout)}
    assert kinds, "the controller has decided something"


def test_a_node_is_drained_and_taken_back(cluster: LocalCluster) -> None:
    cluster.until_well()
    assert cluster("drain", "3").returncode == 0
    deadline = time.monotonic() + COMMAND_SECONDS_MAX
    while (nodes := cluster.nodes())[3]["leads"] > 0:
        assert time.monotonic() < deadline, nodes
        time.sleep(0.1)
    assert nodes[3]["draining"]
    assert cluster("drain", "3", "--undo").returncode == 0
    assert not cluster.nodes()[3]["draining"]


def test_a_node_that_is_not_there_is_not_ordered_about(cluster: LocalCluster) -> None:
    for verb in ("kill", "start"):
        done = cluster.local(verb, "7")
        assert done.returncode != 0
        assert "no node 7" in done.stderr
    assert "no node 7" in cluster("drain", "7").stderr


def test_a_local_cluster_is_asked_by_the_directory_that_it_lives_in(
    cluster: LocalCluster,
) -> None:
    cluster.until_well()
    asked = cluster.local("status", "-o", "json")
    assert asked.returncode == 0, asked.stderr
    assert [row["id"] for row in json.loads(asked.stdout)] == [1, 2, 3]
    assert cluster.local("events").returncode == 0
    assert "no node 7" in cluster.local("drain", "7").stderr


def test_a_second_one_in_the_same_directory_is_refused(cluster: LocalCluster) -> None:
    done = cluster.local("up", "--nodes", str(NODES))
    assert done.returncode == 1
    assert str(cluster.process.pid) in done.stderr


def test_down_stops_everything_and_the_data_stay(tmp_path: Path) -> None:
    with LocalCluster(tmp_path) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([NewTopic("kept", 2, replication_factor=3)])["kept"].result(20)
        assert cluster.local("down").returncode == 0
        assert cluster.process.wait(STOP_SECONDS_MAX) == 0
        assert cluster.processes() == []
        assert not cluster.ready_file.exists()
        late = cluster.local("down")
        assert late.returncode == UNREACHABLE
        assert "duolog cluster up" in late.stderr

        cluster.start()
        cluster.until_well()
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        assert "kept" in admin.list_topics(timeout=20).topics
        assert cluster.stop() == 0
        assert cluster.processes() == []
        assert not cluster.ready_file.exists()


def test_it_runs_where_a_file_is_named_like_a_module_and_tells_when_etcd_ends(
    tmp_path: Path,
) -> None:
    (tmp_path / "types.py").write_text("raise SystemExit('the wrong types')")
    with LocalCluster(tmp_path) as cluster:
        (etcd,) = [
            pid
            for pid in cluster.processes()
            if b"etcd" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]
        ]
        os.kill(etcd, signal.SIGKILL)
        deadline = time.monotonic() + COMMAND_SECONDS_MAX
        while "etcd local-1 ended with code" not in cluster.output.read_text():
            assert time.monotonic() < deadline, cluster.output.read_text()
            time.sleep(0.05)
        assert cluster.stop() == 0


def test_a_stop_while_a_node_is_frozen_leaves_no_process(tmp_path: Path) -> None:
    with LocalCluster(tmp_path) as cluster:
        os.kill(cluster.described["nodes"][1]["pid"], signal.SIGSTOP)
        assert cluster.stop() == 0
        assert cluster.processes() == []
