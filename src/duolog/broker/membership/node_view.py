"""This node's view of all nodes. Pure: changed only by replaying the store's changes."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from duolog.broker.membership.entries import (
    decode_record,
    decode_registration,
    decode_statement,
    node_of_key,
)
from duolog.model.cluster import LiveNode, NodeRecord, Registration
from duolog.model.statement import Statement
from duolog.ports.metastore import ChangeSet

NodeListener = Callable[[int, LiveNode | None], None]
"""Called with a node's id and its new state; None: the node is gone."""

_DOORS = ("kafka", "sqs", "admin", "peer")


class NodeView:
    def __init__(self) -> None:
        self._registered: dict[int, tuple[Registration, int]] = {}
        self._live: dict[int, LiveNode] = {}
        self._records: dict[int, NodeRecord] = {}
        self._statements: dict[int, Statement] = {}
        self.live: Mapping[int, LiveNode] = MappingProxyType(self._live)
        """Registered nodes by id, whose leases the store has not seen expire."""
        self.records: Mapping[int, NodeRecord] = MappingProxyType(self._records)
        """Records, by id, of all nodes that a controller has ever admitted."""
        self.statements: Mapping[int, Statement] = MappingProxyType(self._statements)
        """Last statement of each node that has made one."""
        self.listeners: list[NodeListener] = []
        self.record_listeners: list[Callable[[], None]] = []
        """Called when the nodes' records change."""

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        """Address of a node's listener; None if the node is gone or has no such listener."""
        assert door in _DOORS, door
        live = self._live.get(node)
        text: str = "" if live is None else getattr(live.registration, door)
        host, _, port = text.rpartition(":")
        return (host.strip("[]"), int(port)) if port else None

    def replay_brokers(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._registered.pop(node, None)
            else:
                registration = decode_registration(change.entry)
                self._registered[node] = registration, change.entry.mod_revision
            self._refresh(node)

    def replay_nodes(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._records.pop(node, None)
            else:
                self._records[node] = decode_record(change.entry)
            self._refresh(node)
        for listener in self.record_listeners:
            listener()

    def replay_statements(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._statements.pop(node, None)
            else:
                self._statements[node] = decode_statement(change.entry)

    def _refresh(self, node: int) -> None:
        known = self._live.get(node)
        registered = self._registered.get(node)
        if registered is None:
            self._live.pop(node, None)
        else:
            record = self._records.get(node)
            self._live[node] = LiveNode(*registered, record is not None and record.draining)
        present = self._live.get(node)
        if present != known:
            for listener in self.listeners:
                listener(node, present)
