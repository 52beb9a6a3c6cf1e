"""Revokes the lease of a node whose process has ended, instead of waiting for its expiry.

A process listens on its port from before it registers until after it has left, and its kernel
refuses connections once it is gone: so a node that was connected to and now refuses has ended.
If something in between refused instead, nothing is lost: safety is in the epochs, and the node
registers again.
"""

import asyncio

from duolog.broker.membership.cluster_view import ClusterView
from duolog.broker.membership.entries import broker_key
from duolog.observe.logs import get_logger
from duolog.ports.metastore import MetaStore, StoreUnavailable

log = get_logger("membership")


class Departures:
    def __init__(self, store: MetaStore, view: ClusterView) -> None:
        self._store = store
        self._view = view
        self._ending: dict[int, asyncio.Task[None]] = {}
        """Revocations under way, by node."""

    def noticed(self, node: int) -> None:
        """Revokes the lease of a live node that refuses connections."""
        live = self._view.live.get(node)
        if live is not None and node not in self._ending:
            self._ending[node] = task = asyncio.create_task(self._end(node, live.epoch))
            task.add_done_callback(lambda _: self._ending.pop(node))

    async def stop(self) -> None:
        if tasks := tuple(self._ending.values()):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _end(self, node: int, epoch: int) -> None:
        """Revokes the lease, unless the node has registered again since, under another epoch."""
        try:
            entry = await self._store.get(broker_key(node))
            if entry is None or entry.mod_revision != epoch or entry.lease is None:
                return
            log.info("a node's process has ended, revoking its lease", node=node, epoch=epoch)
            await self._store.revoke_lease(entry.lease)
        except StoreUnavailable:
            # The lease expires by itself, a little later.
            return
