"""Waits until the other nodes have applied a change of the metadata, too.

A client that has just created or deleted a topic or a queue may use any node next.
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
"""Time for which a live node is waited for; a slower one applies the change later."""

_REVISION = Struct(">Q")


class Everywhere:
    """Waits for one kind of store follower on all live nodes."""

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
    """Serves another node's request: waits until this node has applied the revision."""
    if len(body) != _REVISION.size:
        raise InvalidRequest("the request has no revision")
    await follower.until(*_REVISION.unpack(body))
