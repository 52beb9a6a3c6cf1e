"""`duolog cluster` against a real node, which is alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command


@pytest.fixture
def topic(duolog: Command, name: str) -> str:
    duolog.json("topic", "create", name, "-p", "2")
    return name


def advice(directory: Path, *actions: dict[str, Any]) -> str:
    file = directory / "advice.json"
    file.write_text(json.dumps({"version": 1, "made_ms": 0, "actions": actions}))
    return str(file)


def grown(topic: str, partitions: int) -> dict[str, Any]:
    return {"type": "add_partitions", "topic": topic, "partitions": partitions, "reason": "busy"}


def partitions(duolog: Command, topic: str) -> int:
    return len(duolog.json("topic", "info", topic)[0]["partitions"])


def test_partitions_are_added_once_somebody_agrees(
    duolog: Command, topic: str, tmp_path: Path
) -> None:
    file = advice(tmp_path, grown(topic, 4))
    refused = duolog("cluster", "apply", file)
    assert refused.code == 4
    assert f"topic '{topic}' gets 4 partitions instead of 2: busy" in refused.err
    (shown,) = duolog.json("cluster", "apply", file, "--dry-run")
    assert (shown["from"], shown["to"], shown["state"]) == (2, 4, "to do")
    assert partitions(duolog, topic) == 2
    (done,) = duolog.json("cluster", "apply", file, "--yes")
    assert done["state"] == "done"
    assert partitions(duolog, topic) == 4
    (again,) = duolog.json("cluster", "apply", file)
    assert again["state"] == "is so already"


def test_a_move_to_a_node_that_is_not_there_is_refused(
    duolog: Command, topic: str, tmp_path: Path
) -> None:
    move = {"type": "move_partition", "topic": topic, "partition": 0, "replicas": [77]}
    refused = duolog("cluster", "apply", advice(tmp_path, move), "--yes")
    assert refused.code != 0
    assert "goes from nodes" in refused.err
    lost = {**move, "partition": 9}
    assert duolog("cluster", "apply", advice(tmp_path, lost), "--yes").code == 3


def test_a_file_that_is_no_advice_is_refused_where_it_is_wrong(
    duolog: Command, topic: str, tmp_path: Path
) -> None:
    wrong = {**grown(topic, 4), "partitions": "many"}
    refused = duolog("cluster", "apply", advice(tmp_path, wrong), "--yes")
    assert refused.code == 2
    assert "$.actions[0].partitions" in refused.err
    assert duolog("cluster", "apply", str(tmp_path / "none"), "--yes").code == 2


def test_a_node_that_is_alone_says_so_and_is_well(duolog: Command) -> None:
    done = duolog("cluster", "status")
    assert (done.code, done.out) == (0, "")
    assert done.err == "This node is alone: it belongs to no cluster, and it is ready.\n"
    assert duolog.json("cluster", "status") == []


@pytest.mark.parametrize("verb", [("events",), ("drain", "1")])
def test_what_only_a_cluster_has_is_not_there(duolog: Command, verb: tuple[str, ...]) -> None:
    done = duolog("cluster", *verb)
    assert done.code == 1
    assert "Name a node of a cluster with --admin, or a local cluster with --data." in done.err


@pytest.mark.parametrize(
    "verb", [("status",), ("events",), ("drain", "1"), ("kill", "1"), ("start", "1"), ("down",)]
)
def test_where_no_local_cluster_runs_there_is_none_to_ask(
    duolog: Command, tmp_path: Path, verb: tuple[str, ...]
) -> None:
    done = duolog("cluster", *verb, "--data", str(tmp_path))
    assert done.code == 5
    assert done.err == f"No cluster runs in {tmp_path}. Start one with `duolog cluster up`.\n"
