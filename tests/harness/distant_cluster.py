"""A cluster on machines of its own: separate networks, separate disks, and real certificates."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.harness.cluster import NAME, Cluster
from tests.harness.etcd import Etcd
from tests.harness.mounts import PowerCut
from tests.harness.namespaces import Network
from tests.harness.node import NO_SETTINGS

IMAGE_BYTES = 512 << 20
CREDENTIALS = "chaos:secret"


@dataclass
class DistantCluster:
    cluster: Cluster
    network: Network
    disks: Mapping[int, PowerCut]

    @staticmethod
    def node_machine(number: int) -> str:
        return f"n{number}"

    @staticmethod
    def etcd_machine(member: int) -> str:
        return f"e{member}"

    @property
    def node_machines(self) -> list[str]:
        return [self.node_machine(number) for number in self.cluster.nodes]

    @property
    def etcd_machines(self) -> list[str]:
        return [self.etcd_machine(member) for member in range(len(self.cluster.etcd.endpoints))]


@contextmanager
def distant_cluster(
    directory: Path,
    nodes: int = 3,
    etcd_members: int = 3,
    settings: Mapping[str, object] = NO_SETTINGS,
) -> Iterator[DistantCluster]:
    """The test is in the clients' network meanwhile."""
    numbers = range(1, nodes + 1)
    node_names = [DistantCluster.node_machine(number) for number in numbers]
    etcd_names = [DistantCluster.etcd_machine(member) for member in range(etcd_members)]
    with ExitStack() as stack:
        network = stack.enter_context(Network([*node_names, *etcd_names]))
        machines = dict(zip(numbers, (network.machines[each] for each in node_names), strict=True))
        disks = {number: _disk(stack, directory / f"disk-{number}") for number in numbers}
        certificates = directory / "certificates"
        hosts = {number: machine.host for number, machine in machines.items()}
        make_certificates(certificates, hosts)
        etcd = Etcd(
            directory / "etcd",
            etcd_members,
            machines=[network.machines[each] for each in etcd_names],
        )
        cluster = Cluster(
            directory,
            nodes,
            etcd=etcd,
            machines=machines,
            disks={number: disk.mounted for number, disk in disks.items()},
            settings={
                "sqs.credentials": CREDENTIALS,
                "peer.tls.ca": certificates / "ca.pem",
                **settings,
            },
            node_settings={
                number: {
                    "peer.tls.cert": certificates / f"node-{number}.pem",
                    "peer.tls.key": certificates / f"node-{number}.key",
                }
                for number in numbers
            },
        )
        stack.enter_context(network.clients.entered())
        stack.enter_context(cluster)
        yield DistantCluster(cluster, network, disks)


def _disk(stack: ExitStack, directory: Path) -> PowerCut:
    try:
        disk = PowerCut(directory, IMAGE_BYTES)
    except pytest.skip.Exception as reason:
        pytest.fail(f"a disk whose power can be cut is needed: {reason}")
    stack.callback(disk.remove)
    return disk


def make_certificates(directory: Path, hosts: Mapping[int, str]) -> None:
    """As an operator does."""
    command = [sys.executable, "-m", "duolog", "cluster", "certs"]
    command += ["--cluster", NAME, "--out", str(directory)]
    for number, host in hosts.items():
        command += ["--node", f"{number}={host}"]
    subprocess.run(command, check=True, capture_output=True)
