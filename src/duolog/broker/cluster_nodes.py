"""The live nodes of the cluster, as placement and metadata answers need them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from duolog.model.cluster import ROLES, LiveNode, NodeRecord, Registration
from duolog.model.statement import Statement

NO_BROKER_EPOCH = 0
"""Broker epoch of a sole node. Without registration its entry is absent: mod-revision 0."""


class ClusterNodes(Protocol):
    @property
    def live(self) -> Mapping[int, LiveNode]:
        """Live nodes by id, as this node knows them now."""
        ...

    @property
    def records(self) -> Mapping[int, NodeRecord]:
        """Stored records of all nodes by id, including those that are gone."""
        ...

    @property
    def statements(self) -> Mapping[int, Statement]:
        """Last statement of each node; core/membership/statements.py says which of them count."""
        ...

    @property
    def controller(self) -> int | None:
        """Node id of the controller; None while there is none."""
        ...

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        """Address of a node's listener; None if the node is gone or has no such listener."""
        ...


class SoleNode:
    """A node without a cluster: always alive, and its own controller.

    Knows no addresses: every client has already reached one of its listeners.
    """

    def __init__(self, node: int, rack: str = "") -> None:
        registration = Registration(
            node=node,
            incarnation="",
            directory="",
            stopped_cleanly=True,
            rack=rack,
            host="",
            roles=ROLES,
        )
        self.controller = node
        self.records: Mapping[int, NodeRecord] = MappingProxyType({})
        self.statements: Mapping[int, Statement] = MappingProxyType({})
        self.live: Mapping[int, LiveNode] = MappingProxyType(
            {node: LiveNode(registration, NO_BROKER_EPOCH)}
        )

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        return None


def live_brokers(nodes: ClusterNodes) -> list[LiveNode]:
    """Live nodes with the broker role, which can hold partitions, by ascending id."""
    return [node for _, node in sorted(nodes.live.items()) if "broker" in node.registration.roles]
