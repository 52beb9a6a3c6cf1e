"""`duolog cluster status`, as an operator reads it."""

import json
from typing import Any

import msgspec
import pytest
from tests.unit.cli.door_server import DoorServer
from typer.testing import CliRunner

from duolog.cli.failures import ExitCode
from duolog.cli.main import app
from duolog.client.cluster_operator import (
    NODE_ALONE,
    ClusterDetails,
    NodeSummary,
    PartitionSummary,
)

_NODE = NodeSummary(
    id=1,
    alive=True,
    controller=True,
    draining=False,
    rack="",
    host="host-1",
    roles=["broker"],
    kafka="here:1",
    sqs="here:2",
    admin="here:3",
    peer="here:4",
    leads=1,
    copies=1,
)
_WELL = ClusterDetails(
    cluster_id="cluster",
    in_touch=True,
    controller=1,
    controller_epoch=1,
    nodes=[_NODE],
    partitions=PartitionSummary(total=1, leaderless=0, under_replicated=0),
)


def status(doors: DoorServer, told: ClusterDetails) -> Any:
    doors.answers["GET /cluster"] = lambda asked: msgspec.to_builtins(told)
    return CliRunner().invoke(app, ["cluster", "status", "-o", "json"])


def test_a_cluster_that_is_well_is_said_to_be_well(doors: DoorServer) -> None:
    done = status(doors, _WELL)
    assert done.exit_code == 0
    assert "1 partition, all led and in sync" in done.stderr


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"controller": None}, "No node is the controller."),
        ({"partitions": PartitionSummary(3, 2, 2)}, "nobody leads"),
        ({"partitions": PartitionSummary(3, 0, 1)}, "1 partition of 3 lacks a copy"),
        ({"partitions": PartitionSummary(3, 0, 2)}, "2 partitions of 3 lack a copy"),
        ({"in_touch": False}, "has lost touch with the metadata store"),
        ({"in_touch": False, "controller": None}, "has lost touch with the metadata store"),
    ],
)
def test_a_cluster_that_is_not_well_is_never_said_to_be(
    doors: DoorServer, changes: dict[str, Any], sentence: str
) -> None:
    done = status(doors, msgspec.structs.replace(_WELL, **changes))
    assert done.exit_code == ExitCode.UNHEALTHY
    assert sentence in done.stderr
    assert "in sync\n" not in done.stderr
    assert [row["id"] for row in json.loads(done.stdout)] == [1]


def test_nodes_that_do_not_reach_each_other_are_named(doors: DoorServer) -> None:
    cut = msgspec.structs.replace(_NODE, cannot_reach=[2, 3])
    done = status(doors, msgspec.structs.replace(_WELL, nodes=[cut]))
    assert done.exit_code == 0
    assert "Node 1 cannot reach node 2, 3: check the network" in done.stderr
    lacking = PartitionSummary(3, 0, 1)
    done = status(doors, msgspec.structs.replace(_WELL, nodes=[cut], partitions=lacking))
    assert done.exit_code == ExitCode.UNHEALTHY
    assert "Node 1 cannot reach node 2, 3: check the network" in done.stderr


def test_a_node_that_waits_to_join_its_cluster_is_not_well(doors: DoorServer) -> None:
    doors.answers["GET /cluster"] = lambda asked: (404, {"error": "alone", "code": NODE_ALONE})
    doors.answers["GET /readyz"] = lambda asked: (503, {"reasons": {"start": "it waits for etcd"}})
    done = CliRunner().invoke(app, ["cluster", "status"])
    assert done.exit_code == ExitCode.UNHEALTHY
    assert "not ready: it waits for etcd. Wait until it is" in done.stderr
