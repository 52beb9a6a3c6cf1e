"""Ports for what a test starts, and may kill and start again at the same address.

They are none that a connection can be given meanwhile, and each process that runs tests takes
them from a share of its own, so that a node which is down does not lose its port to another
test's.
"""

import fcntl
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import TextIO

from duolog.app.local.ports import kept_ports

PORTS_PER_SHARE = 1_000

_locks: list[TextIO] = []
"""Held until this process ends."""


def free_port() -> int:
    """The next one that nobody uses. It comes round again only after all the others."""
    for port in islice(_own_ports(), PORTS_PER_SHARE):
        if _is_free(port):
            return port
    raise AssertionError("all ports of this process are in use")


@cache
def _own_ports() -> Iterator[int]:
    for ports in _shares():
        lock = (Path(tempfile.gettempdir()) / f"duolog-test-ports-{ports.start}").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
        else:
            _locks.append(lock)
            return cycle(ports)
    raise AssertionError("more processes run tests than there are shares of ports")


def _shares() -> Iterator[range]:
    ports = kept_ports()
    for first in range(0, len(ports) - PORTS_PER_SHARE + 1, PORTS_PER_SHARE):
        yield ports[first : first + PORTS_PER_SHARE]


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: connections of an earlier one may still linger.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
