"""A data directory that is not this node's, or not whole, is refused before anything is served."""

import json
import shutil
from collections.abc import Callable

import pytest
from tests.harness.node import Node
from tests.harness.stored import TOPIC, create, read_from, store


def take_from_another_cluster(node: Node) -> None:
    file = node.data / "node.json"
    identity = json.loads(file.read_text())
    identity["cluster_id"] = "AAAAAAAAAAAAAAAAAAAAAA"
    file.write_text(json.dumps(identity))


def lose_the_metadata(node: Node) -> None:
    for file in node.data.glob("metadata.sqlite*"):
        file.unlink()


def overwrite_the_metadata(node: Node) -> None:
    (node.data / "metadata.sqlite").write_bytes(b"not a database " * 1000)


def damage_a_page_of_the_metadata(node: Node) -> None:
    file = node.data / "metadata.sqlite"
    header_bytes = 100
    file.write_bytes(file.read_bytes()[:header_bytes] + b"\xff" * 20_000)


def lose_the_identity(node: Node) -> None:
    (node.data / "node.json").unlink()


def damage_the_identity(node: Node) -> None:
    (node.data / "node.json").write_text("{")


def lose_a_partition(node: Node) -> None:
    shutil.rmtree(node.partition_directory(TOPIC))


def change_the_node_id(node: Node) -> None:
    node.settings["node.id"] = 7


SPOILED: list[tuple[Callable[[Node], None], str]] = [
    (take_from_another_cluster, "cluster"),
    (lose_the_metadata, "cluster"),
    (overwrite_the_metadata, "Restore metadata.sqlite"),
    (damage_a_page_of_the_metadata, "Restore metadata.sqlite"),
    (lose_the_identity, "incomplete"),
    (damage_the_identity, "damaged"),
    (lose_a_partition, "incomplete"),
    (change_the_node_id, "node 1"),
]


@pytest.mark.parametrize(("spoil", "reason"), SPOILED, ids=[spoil.__name__ for spoil, _ in SPOILED])
def test_a_foreign_or_incomplete_directory_is_refused(
    node: Node, spoil: Callable[[Node], None], reason: str
) -> None:
    node.start()
    create(node)
    store(node, 5)
    node.stop()
    spoil(node)
    before = sorted(str(path) for path in node.data.rglob("*.log"))
    node.spawn()
    assert node.wait(20) == 1
    assert reason in node.log_text
    node.check_log()
    assert sorted(str(path) for path in node.data.rglob("*.log")) == before


def test_a_file_in_place_of_the_directory_is_refused(node: Node) -> None:
    node.directory.mkdir(exist_ok=True)
    node.data.write_text("not a directory")
    node.spawn()
    assert node.wait(20) == 1
    assert str(node.data) in node.log_text
    node.check_log()


def test_a_lost_recovery_point_file_costs_only_time(node: Node) -> None:
    with node:
        create(node)
        store(node, 20)
        node.stop()
        (points,) = (path for path in node.data.iterdir() if "recovery" in path.name)
        points.unlink()
        node.start()
        assert read_from(node, 0) == (0, list(range(20)))


def test_a_copied_directory_serves_the_same_records(node: Node) -> None:
    node.start()
    create(node)
    store(node, 20)
    node.stop()
    copy = node.directory / "copy"
    shutil.copytree(node.data, copy / "data")
    with Node(copy) as copied:
        assert read_from(copied, 0) == (0, list(range(20)))
