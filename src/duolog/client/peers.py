"""Sends requests to the other nodes of the cluster, over one connection per node and lane."""

import asyncio
from collections.abc import Callable

from duolog.client.peer_connection import LinkBounds
from duolog.client.peer_link import Address, PeerLink
from duolog.core.membership.silence import LinkLook
from duolog.ports.network import Network
from duolog.ports.peers import REQUESTS_LANE
from duolog.wire.peer.hello import Hello

__all__ = ["LinkBounds", "PeerLinks"]


class PeerLinks:
    """Implements ports.Peers."""

    def __init__(
        self,
        network: Network,
        address_of: Callable[[int], Address | None],
        hello: Callable[[], Hello],
        *,
        cluster: str | None = None,
        bounds: LinkBounds | None = None,
        on_refused: Callable[[int], None] = lambda node: None,
    ) -> None:
        """Takes callbacks for the nodes' addresses and for nodes that refuse connections.

        `address_of` is called before each attempt to connect; None: the node is not registered.

        `on_refused` is called when a node that this link had reached before refuses connections:
        its process no longer listens.

        If `cluster` is set, each node must show a certificate of that cluster (adapters/tls.py).
        """
        self._network = network
        self._address_of = address_of
        self._hello = hello
        self._cluster = cluster
        self._bounds = bounds or LinkBounds()
        self._links: dict[tuple[int, str], PeerLink] = {}
        self._is_closed = False
        self._on_refused = on_refused

    async def call(
        self,
        node: int,
        kind: int,
        body: bytes,
        *,
        timeout_ms: int,
        lane: str = REQUESTS_LANE,
    ) -> memoryview:
        link = self._links.get((node, lane))
        if link is None:
            link = self._new_link(node, lane)
        return await link.call(kind, body, timeout_ms)

    def looks(self) -> list[LinkLook]:
        """A look at each link: what was heard on it, and whether anybody waits for more."""
        return [link.look() for link in self._links.values()]

    def expect(self, node: int) -> None:
        """Ends the back-off of a node that has just registered."""
        for (each, _), link in self._links.items():
            if each == node:
                link.expect()

    def forget(self, node: int) -> None:
        """Closes the connections of a node that is gone, and fails its pending calls."""
        for key in [key for key in self._links if key[0] == node]:
            self._links.pop(key).close()

    async def close(self) -> None:
        self._is_closed = True
        for link in self._links.values():
            link.close()
        # Lets callers that wait for an answer see their failure before shutdown continues.
        await asyncio.sleep(0)

    def _new_link(self, node: int, lane: str) -> PeerLink:
        link = PeerLink(
            node,
            self._network,
            self._address_of,
            self._hello,
            self._bounds,
            self._cluster,
            self._on_refused,
        )
        if self._is_closed:
            link.close()
        else:
            self._links[node, lane] = link
        return link
