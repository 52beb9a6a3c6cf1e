"""Which nodes are alive: what placing a topic and answering a client have to know of them."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Protocol

from duolog.model.cluster import ROLES, LiveNode, NodeRecord, Registration

NO_BROKER_EPOCH = 0
"""Of a node that is alone: nobody registers, so the entry that would say it is absent."""


class ClusterNodes(Protocol):
    @property
    def live(self) -> Mapping[int, LiveNode]:
        """By id, as this node knows them now."""
        ...

    @property
    def records(self) -> Mapping[int, NodeRecord]:
        """What is remembered of nodes, also of those that are gone."""
        ...

    @property
    def controller(self) -> int | None:
        """None while there is none."""
        ...

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        """Where that node's door is; None while it is gone or has no such door."""
        ...


class SoleNode:
    """A node that is alone: always alive, and its own controller.

    It is not asked where its doors are: whoever asks has come through one of them.
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
        self.live: Mapping[int, LiveNode] = MappingProxyType(
            {node: LiveNode(registration, NO_BROKER_EPOCH)}
        )

    def address_of(self, node: int, door: str) -> tuple[str, int] | None:
        return None


def live_brokers(nodes: ClusterNodes) -> list[LiveNode]:
    """Those that can hold partitions, in the order of their ids."""
    return [node for _, node in sorted(nodes.live.items()) if "broker" in node.registration.roles]
