"""A node's view of the cluster: live nodes and the controller.

Follows the store by a watch, so it is always slightly stale. No decision is safe because of this
view alone; a transaction compares whatever must be current.
"""

from collections.abc import Callable, Mapping

from duolog.broker.membership.entries import (
    BROKERS_PREFIX,
    CONTROLLER_EPOCH,
    CONTROLLER_LEADER,
    CONTROLLER_PREFIX,
    NODES_PREFIX,
    STATEMENTS_PREFIX,
    decode_epoch,
    decode_leader,
)
from duolog.broker.membership.node_view import NodeListener, NodeView
from duolog.broker.membership.prefix_follower import PrefixFollower
from duolog.model.cluster import LiveNode, NodeRecord
from duolog.model.statement import Statement
from duolog.ports.metastore import Change, ChangeSet, MetaStore


class ClusterView:
    """View of live nodes and the controller. A sole node never starts it, so it stays empty."""

    def __init__(self, store: MetaStore) -> None:
        self.nodes = NodeView()
        self.controller: int | None = None
        """Node id of the controller; None while there is none."""
        self.controller_epoch = 0
        self.controller_epoch_revision = 0
        """Mod-revision of the epoch's entry, which changes of partition states compare; 0: none."""
        self.controller_listeners: list[Callable[[], None]] = []
        """Called when the controller changes."""
        self.registrations = PrefixFollower(store, BROKERS_PREFIX, self.nodes.replay_brokers)
        self.followers = (
            PrefixFollower(store, CONTROLLER_PREFIX, self._replay_controller),
            PrefixFollower(store, NODES_PREFIX, self.nodes.replay_nodes),
            self.registrations,
            PrefixFollower(store, STATEMENTS_PREFIX, self.nodes.replay_statements),
        )

    @property
    def live(self) -> Mapping[int, LiveNode]:
        return self.nodes.live

    @property
    def records(self) -> Mapping[int, NodeRecord]:
        return self.nodes.records

    @property
    def statements(self) -> Mapping[int, Statement]:
        return self.nodes.statements

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        return self.nodes.address_of(node, door)

    def subscribe(self, listener: NodeListener) -> None:
        """Adds a listener; before `start`, so that it is told of the present nodes, too."""
        self.nodes.listeners.append(listener)

    async def start(self) -> None:
        for follower in self.followers:
            await follower.start()

    async def stop(self) -> None:
        for follower in self.followers:
            await follower.stop()

    def _replay_controller(self, changes: ChangeSet) -> None:
        known = self.controller, self.controller_epoch_revision
        for change in changes.changes:
            self._take_in(change)
        if (self.controller, self.controller_epoch_revision) != known:
            for listener in self.controller_listeners:
                listener()

    def _take_in(self, change: Change) -> None:
        entry = change.entry
        if change.key == CONTROLLER_LEADER:
            self.controller = None if entry is None else decode_leader(entry).node
        elif change.key == CONTROLLER_EPOCH:
            self.controller_epoch = decode_epoch(entry)
            self.controller_epoch_revision = 0 if entry is None else entry.mod_revision
