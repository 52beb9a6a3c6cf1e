"""Requests to the other nodes of the cluster."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

from duolog.ports.transport import Chunk

REQUESTS_LANE = "requests"
COPIES_LANE = "copies"
"""Replication has a connection of its own: what is large must not hold up what is urgent."""


class PeerUnreachable(Exception):
    """There is no answer from the node."""

    def __init__(self, node: int, reason: str, *, was_sent: bool) -> None:
        super().__init__(f"node {node} {reason}")
        self.node = node
        self.reason = reason
        """What the node does, as the rest of a sentence."""
        self.was_sent = was_sent
        """Whether the node may have acted on the request: then its outcome is unknown."""


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

        Raises PeerUnreachable, or the Refusal that the other node raised. A call that is
        cancelled is cancelled over there, too.
        """
        ...


class Caller(NamedTuple):
    """Who asks, as its handshake and its certificate say."""

    node: int
    epoch: int
    """The caller's broker epoch when it connected."""


PeerHandler = Callable[[Caller, memoryview], Awaitable[bytes | Sequence[Chunk]]]
"""Answers a request; a Refusal that it raises travels back. Cancelled when its caller gives up.
The body is the handler's own."""

PeerHandlers = Mapping[int, PeerHandler]
"""By the kind of request."""
