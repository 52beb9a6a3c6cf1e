"""Three nodes and an etcd: each on a machine of its own where root runs it, else side by side."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.harness.cluster import Cluster
from tests.harness.distant_cluster import DistantCluster, distant_cluster
from tests.harness.namespaces import NoNamespaces
from tests.heal.busy_loops import BusyLoops
from tests.heal.quota import Quota

NODES = 3
SETTINGS = {
    "offsets.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 50,
}


@dataclass
class Place:
    cluster: Cluster
    distant: DistantCluster | None
    """None where networks and disks are not the cluster's own."""
    loops: BusyLoops
    directory: Path


@contextmanager
def place(directory: Path, *, loops: int, cores: float | None) -> Iterator[Place]:
    """`loops`: busy ones, which are there first. `cores`: the most that all nodes may use."""
    directory.mkdir(parents=True)
    with ExitStack() as stack:
        busy = stack.enter_context(BusyLoops(loops))
        quota = None if cores is None else stack.enter_context(Quota(cores))
        distant = _distant(stack, directory / "apart")
        if distant is not None:
            cluster = distant.cluster
        else:
            beside = directory / "beside"
            cluster = stack.enter_context(Cluster(beside, NODES, settings=SETTINGS))
        if quota is not None:
            print(quota.refused or f"all nodes share {cores:g} cores", flush=True)
            for node in cluster.nodes.values():
                quota.take(node.pid)
                node.wrapper = quota.wrapper
        yield Place(cluster, distant, busy, directory)


def _distant(stack: ExitStack, directory: Path) -> DistantCluster | None:
    """None where nodes cannot have machines of their own."""
    if os.geteuid() != 0:
        return None
    directory.mkdir()
    made = distant_cluster(directory, NODES, etcd_members=1, settings=SETTINGS)
    try:
        return stack.enter_context(made)
    except (NoNamespaces, pytest.fail.Exception) as reason:
        print(reason, flush=True)
        return None
