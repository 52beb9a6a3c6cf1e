"""Several machines in one: network namespaces on a bridge, between which packets can be lost.

The bridge is in a namespace too, that of the clients, so that nothing outside is touched. Root
may make all this; nobody else can.
"""

import ctypes
import itertools
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.harness.machine import Machine

CLONE_NEWNET = 0x4000_0000
NETWORK = "10.213.0"
CLIENTS_HOST = f"{NETWORK}.1"
FIRST_HOST = 11
BRIDGE = "bridge"
TABLE = "faults"
OWN_NETWORK = Path("/proc/thread-self/ns/net")
NAMED = Path("/run/netns")

_numbers = itertools.count(1)
_libc = ctypes.CDLL(None, use_errno=True)


class NoNamespaces(AssertionError):
    """This environment does not allow what the test needs."""


class Namespace(Machine):
    """A machine of its own as far as its network goes."""

    def __init__(self, name: str, host: str) -> None:
        self.name = name
        self.host = host

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Only this thread, and what it starts meanwhile, is in the namespace. A socket stays
        in the one where it was made."""
        before = os.open(OWN_NETWORK, os.O_RDONLY)
        try:
            inside = os.open(NAMED / self.name, os.O_RDONLY)
            try:
                _set_namespace(inside)
            finally:
                os.close(inside)
            try:
                yield
            finally:
                _set_namespace(before)
        finally:
            os.close(before)

    def drop_from(self, others: Sequence["Namespace"]) -> None:
        """Lose whatever arrives from these, on connections that there are, too."""
        for other in others:
            self.rule(f"add rule ip {TABLE} input ip saddr {other.host} drop")

    def rule(self, text: str) -> None:
        with self.entered():
            run("nft", text)


class Network:
    """A context manager: machines by name, and the clients', where the test itself belongs."""

    def __init__(self, names: Sequence[str]) -> None:
        prefix = f"duolog-{os.getpid()}-{next(_numbers)}"
        self.clients = Namespace(f"{prefix}-clients", CLIENTS_HOST)
        self.machines = {
            name: Namespace(f"{prefix}-{name}", f"{NETWORK}.{FIRST_HOST + index}")
            for index, name in enumerate(names)
        }

    def cut(self, some: Sequence[str], others: Sequence[str]) -> None:
        """Neither side hears the other."""
        self.silence(some, others)
        self.silence(others, some)

    def silence(self, speakers: Sequence[str], listeners: Sequence[str]) -> None:
        """The listeners do not hear the speakers, who hear them."""
        for listener in listeners:
            self.machines[listener].drop_from([self.machines[each] for each in speakers])

    def heal(self) -> None:
        for machine in self.machines.values():
            machine.rule(f"flush chain ip {TABLE} input")

    def __enter__(self) -> "Network":
        try:
            self._make_bridge()
            for index, machine in enumerate(self.machines.values()):
                self._connect(machine, f"to{index}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for machine in [*self.machines.values(), self.clients]:
            with suppress(NoNamespaces):
                run("ip", "netns", "delete", machine.name)

    def _make_bridge(self) -> None:
        clients = self.clients.name
        run("ip", "netns", "add", clients)
        run("ip", "-n", clients, "link", "set", "lo", "up")
        run("ip", "-n", clients, "link", "add", BRIDGE, "type", "bridge")
        run("ip", "-n", clients, "address", "add", f"{CLIENTS_HOST}/24", "dev", BRIDGE)
        run("ip", "-n", clients, "link", "set", BRIDGE, "up")

    def _connect(self, machine: Namespace, port: str) -> None:
        clients, name = self.clients.name, machine.name
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        run("ip", "-n", clients, "link", "add", port, "type", "veth", "peer", "eth0", "netns", name)
        run("ip", "-n", clients, "link", "set", port, "master", BRIDGE, "up")
        run("ip", "-n", name, "address", "add", f"{machine.host}/24", "dev", "eth0")
        run("ip", "-n", name, "link", "set", "eth0", "up")
        machine.rule(f"add table ip {TABLE}")
        machine.rule(
            f"add chain ip {TABLE} input {{ type filter hook input priority 0; policy accept; }}"
        )


def run(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise NoNamespaces(f"{command[0]} is needed: {error}") from error
    if done.returncode != 0:
        raise NoNamespaces(
            f"machines cannot be made of network namespaces here, which takes root, iproute2 and"
            f" nftables: `{' '.join(command)}` said: {done.stderr.strip()}"
        )


def _set_namespace(descriptor: int) -> None:
    if _libc.setns(descriptor, CLONE_NEWNET) != 0:
        raise NoNamespaces(f"a namespace cannot be entered: {os.strerror(ctypes.get_errno())}")
