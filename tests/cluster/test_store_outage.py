"""While the metadata store is gone, nodes serve nothing, and say so to whoever asks."""

import os
import subprocess
import sys
import time
import urllib.error
from collections.abc import Callable

from tests.harness.cluster import Cluster
from tests.harness.node import Node

NOTICED_SECONDS_MAX = 20.0
"""The lease is two seconds; the rest is for a busy machine."""
BACK_SECONDS_MAX = 40.0
UNHEALTHY = 10


def answer(node: Node, path: str) -> tuple[int, str]:
    try:
        return 200, node.asked(path).decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def status(node: Node) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "duolog", "cluster", "status", "--admin", node.admin],
        env={key: value for key, value in os.environ.items() if "DUOLOG_" not in key},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def until(holds: Callable[[], bool], seconds_max: float, what: str) -> None:
    deadline = time.monotonic() + seconds_max
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds_max:.0f} s: {what}"
        time.sleep(0.05)


def test_nodes_without_their_store_say_so_until_it_is_back(cluster: Cluster) -> None:
    nodes = list(cluster.nodes.values())
    assert [answer(node, "/readyz")[0] for node in nodes] == [200] * len(nodes)
    well = status(nodes[0])
    assert well.returncode == 0, well.stderr

    cluster.etcd.kill(0)
    until(
        lambda: all(answer(node, "/readyz")[0] == 503 for node in nodes),
        NOTICED_SECONDS_MAX,
        "no node is ready",
    )
    for node in nodes:
        assert "check that etcd runs" in answer(node, "/readyz")[1]
        assert answer(node, "/livez")[0] == 200, "a restart would not bring the store back"
    unwell = status(nodes[1])
    assert unwell.returncode == UNHEALTHY
    assert "lost touch with the metadata store" in unwell.stderr
    assert "all led and in sync" not in unwell.stderr

    cluster.etcd.start(0)
    until(
        lambda: all(answer(node, "/readyz")[0] == 200 for node in nodes),
        BACK_SECONDS_MAX,
        "every node is ready again",
    )
    until(lambda: status(nodes[1]).returncode == 0, BACK_SECONDS_MAX, "all is well again")
    for node in nodes:
        assert '"error":""' not in node.log_text
