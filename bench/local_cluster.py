"""A cluster on this machine, as `duolog cluster up` makes it, to be measured and hurt."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from bench import processes
from bench.processes import Server, ServerFailed

CLUSTER = "duolog cluster"
SETTLE_SECONDS_MAX = 60.0
_POLL_SECONDS = 0.02


@dataclass(slots=True)
class LocalCluster:
    server: Server
    """The process that supervises; its children count as part of it."""
    data: Path
    nodes: dict[int, dict[str, Any]]

    @property
    def bootstrap(self) -> str:
        return ",".join(str(node["kafka"]) for node in self.nodes.values())

    def order(self, verb: str, node: int) -> None:
        argv = [str(_duolog()), "cluster", verb, str(node), "--data", str(self.data)]
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ServerFailed(done.stderr.strip())

    def described(self) -> dict[str, Any]:
        """What the first node that answers says about the cluster."""
        for node in self.nodes.values():
            try:
                with urlopen(f"http://{node['admin']}/cluster", timeout=2) as answer:
                    told: dict[str, Any] = json.load(answer)
                    return told
            except OSError:
                continue
        raise ServerFailed("no node of the cluster answers")

    def until_settled(self) -> None:
        """All nodes are alive, and all copies in sync."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while time.monotonic() < deadline:
            told = self.described()
            wrong = told["partitions"]["leaderless"] + told["partitions"]["under_replicated"]
            if not wrong and sum(node["alive"] for node in told["nodes"]) == len(self.nodes):
                return
            time.sleep(_POLL_SECONDS)
        raise ServerFailed("the cluster did not settle")

    def kill_node(self, number: int) -> float:
        """SIGKILL; when that was."""
        for pid, words in _children(self.server.pid):
            if "--node-id" in words and words[words.index("--node-id") + 1] == str(number):
                os.kill(pid, signal.SIGKILL)
                return time.monotonic()
        raise ServerFailed(f"node {number} does not run")

    def kill_etcd_leader(self) -> None:
        for pid, words in _children(self.server.pid):
            if words and words[0].endswith("etcd"):
                client = words[words.index("--listen-client-urls") + 1]
                if _leads(client):
                    os.kill(pid, signal.SIGKILL)
                    return
        raise ServerFailed("no member of etcd leads")


@contextmanager
def running(directory: Path, *, etcd_members: int = 1) -> Iterator[LocalCluster]:
    """Three nodes in a directory that is fresh, and gone afterwards."""
    data, ready = directory / "cluster", directory / "cluster.ready"
    shutil.rmtree(data, ignore_errors=True)
    argv: list[str | Path] = [_duolog(), "cluster", "up", "--nodes", "3", "--free-ports"]
    argv += ["--etcd-members", str(etcd_members), "--data", data, "--ready-file", ready]
    log_path = directory / "cluster.log"
    server, told = processes.start_and_wait(CLUSTER, argv, ready_file=ready, log_path=log_path)
    with server:
        nodes = {node["id"]: node for node in told["nodes"]}
        server.address = nodes[1]["kafka"]
        yield LocalCluster(server, data, nodes)
    shutil.rmtree(data, ignore_errors=True)


def _duolog() -> Path:
    return Path(sys.executable).parent / "duolog"


def _children(parent: int) -> Iterator[tuple[int, list[str]]]:
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if int(fields[1]) == parent:
            yield int(entry.name), words


def _leads(client: str) -> bool:
    try:
        with urlopen(f"{client}/v3/maintenance/status", b"{}", timeout=2) as answer:
            status = json.load(answer)
    except OSError:
        return False
    return bool(status["header"]["member_id"] == status.get("leader"))
