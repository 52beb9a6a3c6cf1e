"""Requests to the other nodes of the cluster."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from duolog.ports.transport import Chunk

REQUESTS_LANE = "requests"
COPIES_LANE = "copies"
"""Connection for replication, apart from requests: bulk data must not hold up urgent requests."""


class PeerUnreachable(Exception):
    """The node did not answer."""

    def __init__(self, node: int, reason: str, *, was_sent: bool) -> None:
        super().__init__(f"node {node} {reason}")
        self.node = node
        self.reason = reason
        """Predicate after the node's number, which completes the sentence "node 3 …"."""
        self.was_sent = was_sent
        """True if the node may have acted on the request: its outcome is then unknown."""


class Peers(Protocol):
    async def call(
        self,
        node: int,
        kind: int,
        body: bytes,
        *,
        timeout_ms: int,
        lane: str = REQUESTS_LANE,
    ) -> memoryview:
        """The answer's body. Requests of a lane are sent in order, and answered in any order.

        Raises PeerUnreachable, or the Refusal that the other node raised. Cancelling the call also
        cancels it at the other node.
        """
        ...


class Caller(NamedTuple):
    """Identity of the calling node, from its handshake and its certificate."""

    node: int
    epoch: int
    """Broker epoch of the caller when it connected."""


PeerHandler = Callable[[Caller, memoryview], Awaitable[bytes | Sequence[Chunk]]]
"""Answers a request; a Refusal that it raises travels back. Cancelled when its caller gives up. The
handler owns the body."""

PeerHandlers = Mapping[int, PeerHandler]
"""Handler for each kind of request."""
