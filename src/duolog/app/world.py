"""A node's ports to the outside: real ones in app/node.py, simulated ones in sim."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from duolog.broker.reserve import Reserve
from duolog.ports.clock import Clock
from duolog.ports.counters import CounterFiles
from duolog.ports.disk import Disk
from duolog.ports.http import Poster
from duolog.ports.lease_guard import LeaseGuard
from duolog.ports.metastore import MetaStore
from duolog.ports.network import Network


@dataclass(frozen=True, slots=True)
class World:
    clock: Clock
    disk: Disk
    store: MetaStore
    poster: Poster
    peer_network: Network | None
    """Network between the nodes of a cluster; None for a lone node."""
    new_id: Callable[[], uuid.UUID]
    new_token: Callable[[int], bytes]
    """Returns that many unpredictable bytes."""
    new_session_id: Callable[[], int]
    lease_guard: LeaseGuard | None = None
    """Renews the lease while long turns hold up the event loop; None where no turn takes time."""
    reserve: Reserve | None = None
    """Room kept for a full disk; None: the broker makes its own."""
    counters: CounterFiles | None = None
    """Files in which usage is counted; None: nothing is metered."""
