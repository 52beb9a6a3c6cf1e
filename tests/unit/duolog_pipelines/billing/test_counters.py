"""Asking nodes what they have counted."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from tests.unit.cli.door_server import DoorServer

from duolog_pipelines.billing.counters import ask_nodes
from duolog_pipelines.billing.reconciliation import NodeTotals, Total

TOTALS = {
    "journal": "ab",
    "node": 1,
    "sent_sequence": 16,
    "totals": [
        {
            "tenant": "acme",
            "kind": "queue",
            "resource": "orders",
            "operation": "send",
            "requests": 2,
            "messages": 20,
            "bytes": 5,
            "byte_seconds": 0,
            "errors": 1,
            "later": "a field that nobody knows yet",
        }
    ],
}


@pytest.fixture
def doors() -> Iterator[DoorServer]:
    server = DoorServer()
    yield server
    server.stop()


def node(address: str, number: int, **told: Any) -> dict[str, Any]:
    texts = dict.fromkeys(("rack", "host", "kafka", "sqs", "peer"), "")
    counts = dict.fromkeys(("leads", "copies"), 0)
    flags = {"alive": True, "controller": False, "draining": False}
    return {"id": number, "admin": address, "roles": [], **texts, **counts, **flags, **told}


def cluster(*nodes: dict[str, Any]) -> dict[str, Any]:
    partitions = {"total": 0, "leaderless": 0, "under_replicated": 0}
    return {
        "cluster_id": "c",
        "in_touch": True,
        "controller": None,
        "controller_epoch": 0,
        "nodes": list(nodes),
        "partitions": partitions,
    }


def test_every_node_that_is_alive_is_asked(doors: DoorServer) -> None:
    dead = node("127.0.0.1:1", 2, alive=False)
    doors.answers["GET /cluster"] = lambda _: cluster(node(doors.address, 1), dead)
    doors.answers["GET /usage"] = lambda _: TOTALS
    total = Total("acme", "queue", "orders", "send", 2, 20, 5, 0, 1)
    assert ask_nodes(doors.address).told == [NodeTotals("ab", 1, 16, [total])]


def test_a_node_alone_is_asked_although_it_knows_no_cluster(doors: DoorServer) -> None:
    doors.answers["GET /cluster"] = lambda _: (404, {"error": "there is no cluster"})
    doors.answers["GET /usage"] = lambda _: TOTALS
    asked = ask_nodes(doors.address)
    assert [each.node for each in asked.told] == [1]
    assert asked.silent == []


def test_a_node_that_counts_nothing_or_is_away_is_named(doors: DoorServer) -> None:
    away = node("127.0.0.1:1", 2)
    doors.answers["GET /cluster"] = lambda _: cluster(node(doors.address, 1), away)
    doors.answers["GET /usage"] = lambda _: (404, {"error": "no such page"})
    asked = ask_nodes(doors.address)
    assert asked.told == []
    assert any(f"{doors.address}: it counts no usage" == each for each in asked.silent)
    assert any(each.startswith("127.0.0.1:1: ") for each in asked.silent)
    assert msgspec.json.decode(msgspec.json.encode(asked), type=type(asked)) == asked
