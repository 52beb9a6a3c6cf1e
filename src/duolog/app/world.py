"""Everything outside that a node is built on: real in app/node.py, simulated in sim."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from duolog.ports.clock import Clock
from duolog.ports.counters import CounterFiles
from duolog.ports.disk import Disk
from duolog.ports.http import Poster
from duolog.ports.metastore import MetaStore
from duolog.ports.network import Network


@dataclass(frozen=True, slots=True)
class World:
    clock: Clock
    disk: Disk
    store: MetaStore
    poster: Poster
    peer_network: Network | None
    """Between the nodes of a cluster; None for a node alone."""
    new_id: Callable[[], uuid.UUID]
    new_token: Callable[[int], bytes]
    """So many bytes that nobody can guess."""
    new_session_id: Callable[[], int]
    counters: CounterFiles | None = None
    """Where use is counted; without them nothing is metered."""
