"""Nodes of a cluster, as in the metadata store and in every node's cache of it."""

import msgspec

ROLES = ("broker", "frontend", "controller")


class Registration(msgspec.Struct, frozen=True):
    """Registration of a live node: under a lease, written anew by each start."""

    node: int
    incarnation: str
    """Id that differs with every start."""
    directory: str
    """Id of its data directory; an emptied one has another."""
    stopped_cleanly: bool
    """True if the run before this one ended with everything on disk."""
    rack: str
    host: str
    """Name of the machine: replicas of one partition are spread over hosts where there are
    several."""
    roles: tuple[str, ...]
    kafka: str = ""
    """host:port for Kafka clients; empty without that door, like the next three."""
    sqs: str = ""
    admin: str = ""
    peer: str = ""


class NodeRecord(msgspec.Struct, frozen=True):
    """Permanent record of a node, alive or not. The controller writes it, but for `draining`."""

    node: int
    directory: str
    """Id of the data directory that its replicas were last known to be in."""
    draining: bool = False
    """True if an operator wants it to lead nothing and, if there is room elsewhere, hold
    nothing."""
    epoch: int = 0
    """Last broker epoch that the controller has judged. A live node with another one has not been
    judged since it registered, and is not trusted for what it held before."""


class LiveNode(msgspec.Struct, frozen=True):
    registration: Registration
    epoch: int
    """Mod-revision of the registration's entry: the node's broker epoch."""
    draining: bool = False

    @property
    def id(self) -> int:
        return self.registration.node
