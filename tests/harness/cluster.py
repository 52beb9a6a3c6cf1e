"""Several nodes and an etcd on this machine, as their users have them: real processes."""

import json
import random
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from tests.harness.etcd import Etcd
from tests.harness.machine import THIS_MACHINE, Machine
from tests.harness.node import NO_SETTINGS, Node
from tests.harness.ports import free_port

NAME = "tested"
SETTLE_SECONDS_MAX = 30.0
CREATE_SECONDS_MAX = 30.0
POLL_SECONDS = 0.05


class Cluster:
    """A context manager: it starts an etcd and the nodes, and ends whatever still runs."""

    def __init__(
        self,
        directory: Path,
        nodes: int = 3,
        *,
        etcd_members: int = 1,
        settings: Mapping[str, object] = NO_SETTINGS,
        node_settings: Mapping[int, Mapping[str, object]] | None = None,
        etcd: Etcd | None = None,
        machines: Mapping[int, Machine] | None = None,
        disks: Mapping[int, Path] | None = None,
    ) -> None:
        """`disks`: where a node's data are, unless in its directory."""
        self._directory = directory
        self._machines = machines or {}
        self._disks = disks or {}
        self.etcd = etcd or Etcd(directory / "etcd", etcd_members)
        self.nodes = {
            number: self._new_node(number, {**settings, **(node_settings or {}).get(number, {})})
            for number in range(1, nodes + 1)
        }

    def _new_node(self, number: int, settings: Mapping[str, object]) -> Node:
        node = Node(
            self._directory / f"node-{number}",
            {
                "cluster.name": NAME,
                "store.address": self.etcd.address,
                "node.id": number,
                "node.host": f"host-{number}",
                "topic.min.insync.replicas": 2,
                **settings,
            },
            data=self._disks[number] / "data" if number in self._disks else None,
            machine=self._machines.get(number, THIS_MACHINE),
        )
        node.peer = f"{node.machine.host}:{free_port()}"
        return node

    def add_node(self, number: int, settings: Mapping[str, object] = NO_SETTINGS) -> Node:
        """A new one, started."""
        return self.new_node(number, settings).start()

    def new_node(self, number: int, settings: Mapping[str, object] = NO_SETTINGS) -> Node:
        """A new one, not started yet."""
        self.nodes[number] = self._new_node(number, settings)
        return self.nodes[number]

    @property
    def bootstrap(self) -> str:
        return ",".join(node.kafka for node in self.nodes.values())

    @property
    def sqs(self) -> str:
        """The SQS door of any node that runs: each answers every request. Where none does, one
        that refuses connections."""
        return random.choice(self.running or list(self.nodes.values())).sqs

    @property
    def credentials(self) -> str | None:
        return next(iter(self.nodes.values())).credentials

    @property
    def running(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.running]

    def described(self, by: Node | None = None) -> dict[str, Any]:
        """What a node says about the cluster: this one, or any that serves."""
        told: dict[str, Any] = json.loads((by or self.running[0]).asked("/cluster"))
        return told

    def admin(self) -> AdminClient:
        """Of all nodes. It must be kept until its answers are there."""
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def create_topic(self, name: str, partitions: int, copies: int = 3) -> None:
        """As soon as enough nodes are alive: a busy machine may have cost one its lease."""
        admin = self.admin()
        new = NewTopic(name, partitions, replication_factor=copies)
        deadline = time.monotonic() + CREATE_SECONDS_MAX
        while True:
            try:
                admin.create_topics([new])[name].result(CREATE_SECONDS_MAX)
                return
            except KafkaException as refused:
                is_short = refused.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR
                if not is_short or time.monotonic() > deadline:
                    raise
            time.sleep(POLL_SECONDS)

    def drain(self, number: int) -> None:
        """Ask for a node to be emptied."""
        self.running[0].asked(f"/cluster/nodes/{number}/drain", b'{"draining": true}')

    def until(
        self,
        holds: Callable[[dict[str, Any]], bool],
        what: str,
        *,
        by: Node | None = None,
        seconds_max: float = SETTLE_SECONDS_MAX,
    ) -> dict[str, Any]:
        """Wait until the cluster's description is as wanted, as this node or as any sees it."""
        deadline = time.monotonic() + seconds_max
        told: dict[str, Any] = {}
        while time.monotonic() < deadline:
            try:
                told = self.described(by)
                if holds(told):
                    return told
            except OSError:
                pass
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"not within {seconds_max:.0f} s: {what}; last {told}")

    def until_settled(self, seconds_max: float = SETTLE_SECONDS_MAX) -> None:
        """Every node sees all the others, and all partitions led and all copies in sync."""
        nodes = len(self.running)
        for node in self.running:
            self.until(
                lambda told: (
                    told["in_touch"]
                    and len([each for each in told["nodes"] if each["alive"]]) == nodes
                    and not told["partitions"]["leaderless"]
                    and not told["partitions"]["under_replicated"]
                ),
                f"all copies in sync, seen by {node.directory.name}",
                by=node,
                seconds_max=seconds_max,
            )

    def check_logs(self) -> None:
        for node in self.nodes.values():
            node.check_log()

    def __enter__(self) -> "Cluster":
        with ExitStack() as stack:
            stack.callback(self._kill)
            self.etcd.__enter__()
            for node in self.nodes.values():
                node.spawn()
            for node in self.nodes.values():
                node.until_ready()
            stack.pop_all()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            for node in self.running:
                node.__exit__(kind, error, trace)
            if error is None:
                self.check_logs()
        finally:
            self._kill()

    def _kill(self) -> None:
        for node in self.nodes.values():
            node.kill()
        self.etcd.__exit__()
