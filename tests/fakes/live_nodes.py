"""The live nodes of a cluster as a test wants them, registered in a store."""

from tests.fakes.cluster_nodes import registration

from duolog.broker.membership.entries import broker_key, encode
from duolog.model.cluster import LiveNode, NodeRecord
from duolog.model.statement import Statement
from duolog.ports.metastore import Delete, MetaStore, Put


class LiveNodes:
    """Implements ClusterNodes. It learns of what it did itself at once."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self.live: dict[int, LiveNode] = {}
        self.records: dict[int, NodeRecord] = {}
        self.statements: dict[int, Statement] = {}
        self.controller: int | None = None

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        assert door == "kafka"
        live = self.live.get(node)
        host, _, port = live.registration.kafka.rpartition(":") if live else ("", "", "")
        return (host, int(port)) if port else None

    async def register(self, *nodes: int, **changes: object) -> None:
        for node in nodes:
            live = self.live[node] = await self.register_unseen(node, **changes)
            self.records[node] = NodeRecord(node, live.registration.directory, epoch=live.epoch)

    async def register_unseen(self, node: int, **changes: object) -> LiveNode:
        """The store knows it, the other nodes do not yet."""
        value = registration(node, **changes)
        result = await self._store.transact([], [Put(broker_key(node), encode(value))])
        return LiveNode(value, result.revision)

    async def lose(self, node: int) -> None:
        await self._store.transact([], [Delete(broker_key(node))])
        del self.live[node]
