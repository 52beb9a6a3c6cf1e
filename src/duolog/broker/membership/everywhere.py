"""Waits until the other nodes have acted upon a change of the metadata, too.

Whoever is told that a topic or a queue is there, or gone, may ask any node next.
"""

import asyncio
from contextlib import suppress
from struct import Struct
from typing import Any

from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.store_follower import StoreFollower
from duolog.model.errors import InvalidRequest, Refusal
from duolog.ports.peers import Peers, PeerUnreachable
from duolog.wire.peer.kinds import PeerKind

CATCH_UP_MS_MAX = 5_000
"""Who takes longer learns of it later. A node that is not alive any more is not waited for."""

_REVISION = Struct(">Q")


class Everywhere:
    """Of what one kind of follower follows at every node."""

    def __init__(self, peers: Peers, view: ClusterView, node: int, kind: PeerKind) -> None:
        self._peers = peers
        self._view = view
        self._node = node
        self._kind = kind

    async def until(self, revision: int) -> None:
        others = [node for node in self._view.live if node != self._node]
        await asyncio.gather(*(self._until(node, revision) for node in others))

    async def _until(self, node: int, revision: int) -> None:
        with suppress(PeerUnreachable, Refusal):
            body = _REVISION.pack(revision)
            await self._peers.call(node, self._kind, body, timeout_ms=CATCH_UP_MS_MAX)


async def catch_up(follower: StoreFollower[Any], body: memoryview) -> None:
    """As another node asks for it."""
    if len(body) != _REVISION.size:
        raise InvalidRequest("no revision is named")
    await follower.until(*_REVISION.unpack(body))
