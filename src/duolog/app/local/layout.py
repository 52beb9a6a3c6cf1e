"""Layout of a local cluster: its directories, and ports that stay the same."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec

from duolog.app.data_directory import StartRefused
from duolog.app.local.ports import kept_ports

HOST = "127.0.0.1"
CLUSTER_NAME = "local"
LAYOUT_NAME = "cluster.json"
NODES_MAX = 9
ETCD_MEMBERS_MAX = 5

_FIRST_PORTS = (9092, 9324, 9325, 9326)
"""Ports of the first node: Kafka, SQS, admin, peer."""
_FIRST_ETCD_PORTS = (12379, 12380)
"""Ports of the first etcd member, other than etcd's usual ones, which this machine may use."""
_PORTS_APART = 10
_TRIES_PER_PORT = 4


class LocalNode(msgspec.Struct, frozen=True):
    id: int
    kafka: str
    sqs: str
    admin: str
    peer: str

    @property
    def data_name(self) -> str:
        return f"node-{self.id}"


class EtcdMember(msgspec.Struct, frozen=True):
    name: str
    client: str
    peer: str


class Layout(msgspec.Struct, frozen=True):
    nodes: tuple[LocalNode, ...]
    etcd: tuple[EtcdMember, ...]

    @property
    def store(self) -> str:
        """Value of the setting store.address."""
        return "etcd://" + ",".join(member.client for member in self.etcd)

    def node(self, number: int) -> LocalNode | None:
        return next((each for each in self.nodes if each.id == number), None)


def open_layout(directory: Path, nodes: int, etcd_members: int, *, free_ports: bool) -> Layout:
    """The directory's layout, or a new one written to it. Raises StartRefused."""
    file = directory / LAYOUT_NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if file.exists():
            layout = msgspec.json.decode(file.read_bytes(), type=Layout)
        else:
            addresses = _free_addresses() if free_ports else _usual_addresses()
            layout = _new_layout(nodes, etcd_members, addresses)
            file.write_bytes(msgspec.json.encode(layout))
    except OSError as error:
        raise StartRefused(
            f"The directory {directory} cannot be used: {error.strerror}."
            " Choose another with --data, or make it writable."
        ) from error
    except msgspec.DecodeError as error:
        raise StartRefused(
            f"{file} is damaged. Restore it, or choose an empty directory with --data."
        ) from error
    if (len(layout.nodes), len(layout.etcd)) != (nodes, etcd_members):
        raise StartRefused(
            f"The cluster in {directory} has {len(layout.nodes)} nodes and {len(layout.etcd)}"
            " members of etcd. Run it with as many, or choose an empty directory with --data."
        )
    return layout


def read_layout(directory: Path) -> Layout | None:
    """The layout that the directory has; None where there is none that can be read."""
    try:
        return msgspec.json.decode((directory / LAYOUT_NAME).read_bytes(), type=Layout)
    except (OSError, msgspec.DecodeError):
        return None


def _new_layout(nodes: int, etcd_members: int, addresses: Iterator[list[str]]) -> Layout:
    """`addresses` yields the addresses of one node after the other, then those of each etcd
    member."""
    made = tuple(LocalNode(number, *next(addresses)) for number in range(1, nodes + 1))
    for _ in range(nodes, NODES_MAX):
        next(addresses)
    members = (
        EtcdMember(f"{CLUSTER_NAME}-{number}", *next(addresses)[:2])
        for number in range(1, etcd_members + 1)
    )
    return Layout(made, tuple(members))


def _usual_addresses() -> Iterator[list[str]]:
    for number in range(NODES_MAX):
        yield [f"{HOST}:{first + number * _PORTS_APART}" for first in _FIRST_PORTS]
    for number in range(ETCD_MEMBERS_MAX):
        yield [f"{HOST}:{first + number * _PORTS_APART}" for first in _FIRST_ETCD_PORTS]


def _free_addresses() -> Iterator[list[str]]:
    """Addresses on unused ports. All are held until all are known, so that they differ."""
    each = len(_FIRST_PORTS)
    wanted = each * (NODES_MAX + ETCD_MEMBERS_MAX)
    ports = kept_ports()
    found: list[str] = []
    with ExitStack() as held:
        for port in random.sample(ports, min(len(ports), wanted * _TRIES_PER_PORT)):
            probe = held.enter_context(socket.socket())
            with suppress(OSError):
                probe.bind((HOST, port))
                found.append(f"{HOST}:{port}")
            if len(found) == wanted:
                return iter([found[first : first + each] for first in range(0, wanted, each)])
    raise StartRefused(
        f"Most ports from {ports.start} to {ports.stop - 1} are taken, and {wanted} are needed."
        " End programs that listen there, or leave out --free-ports."
    )
