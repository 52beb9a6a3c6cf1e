"""Where the parts of a local cluster are: their directories, and the ports that they keep."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import msgspec

from duolog.app.data_directory import StartRefused

HOST = "127.0.0.1"
CLUSTER_NAME = "local"
LAYOUT_NAME = "cluster.json"
NODES_MAX = 9

_FIRST_PORTS = {"kafka": 9092, "sqs": 9324, "admin": 9325, "peer": 9326}
_PORTS_APART = 10
_ETCD_PORTS = (12379, 12380)


class LocalNode(msgspec.Struct, frozen=True):
    id: int
    kafka: str
    sqs: str
    admin: str
    peer: str

    @property
    def data_name(self) -> str:
        return f"node-{self.id}"


class Layout(msgspec.Struct, frozen=True):
    nodes: tuple[LocalNode, ...]
    etcd_client: str
    etcd_peer: str

    def node(self, number: int) -> LocalNode | None:
        return next((each for each in self.nodes if each.id == number), None)


def open_layout(directory: Path, nodes: int, *, free_ports: bool) -> Layout:
    """The layout that the directory has, or a new one. Raises StartRefused."""
    file = directory / LAYOUT_NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if file.exists():
            layout = msgspec.json.decode(file.read_bytes(), type=Layout)
        else:
            layout = _new_layout(nodes, _free_ports() if free_ports else _usual_ports())
            file.write_bytes(msgspec.json.encode(layout))
    except OSError as error:
        raise StartRefused(
            f"The directory {directory} cannot be used: {error.strerror}."
            " Choose another with --data, or make it writable."
        ) from error
    except msgspec.DecodeError as error:
        raise StartRefused(
            f"{file} is damaged: {error}. Restore it, or choose an empty directory with --data."
        ) from error
    if len(layout.nodes) != nodes:
        raise StartRefused(
            f"The cluster in {directory} has {len(layout.nodes)} nodes, not {nodes}."
            f" Run it with --nodes {len(layout.nodes)}, or choose an empty directory with --data."
        )
    return layout


Ports = Callable[[int], tuple[int, int, int, int]]
"""Of a node by its number; number 0 is etcd, which has two."""


def _new_layout(nodes: int, ports: Ports) -> Layout:
    etcd = ports(0)
    made = (
        LocalNode(number, *(f"{HOST}:{port}" for port in ports(number)))
        for number in range(1, nodes + 1)
    )
    return Layout(tuple(made), f"{HOST}:{etcd[0]}", f"{HOST}:{etcd[1]}")


def _usual_ports() -> Ports:
    def ports(number: int) -> tuple[int, int, int, int]:
        if number == 0:
            return (*_ETCD_PORTS, 0, 0)
        apart = _PORTS_APART * (number - 1)
        kafka, sqs, admin, peer = (first + apart for first in _FIRST_PORTS.values())
        return kafka, sqs, admin, peer

    return ports


def _free_ports() -> Ports:
    """Ports that nobody uses now. All are held until all are known, so that they differ."""
    with ExitStack() as held:
        found = []
        for _ in range(4 * (NODES_MAX + 1)):
            probe = held.enter_context(socket.socket())
            probe.bind((HOST, 0))
            found.append(probe.getsockname()[1])
    return lambda number: (
        found[4 * number],
        found[4 * number + 1],
        found[4 * number + 2],
        found[4 * number + 3],
    )
