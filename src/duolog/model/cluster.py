"""The nodes of a cluster, as the metadata store and every node's cache know them."""

import msgspec

ROLES = ("broker", "frontend", "controller")


class Registration(msgspec.Struct, frozen=True):
    """A node that is alive: under a lease, written anew by each start."""

    node: int
    incarnation: str
    """Differs with every start."""
    directory: str
    """Identity of its data directory; an emptied one has another."""
    stopped_cleanly: bool
    """Whether the run before this one ended with everything on disk."""
    rack: str
    host: str
    """Names the machine: replicas of one partition are never on one host, where there are more."""
    roles: tuple[str, ...]
    kafka: str = ""
    """host:port for clients; empty without that door. So are the next three."""
    sqs: str = ""
    admin: str = ""
    peer: str = ""


class NodeRecord(msgspec.Struct, frozen=True):
    """What is remembered of a node for ever, alive or not. The controller's, but for `draining`."""

    node: int
    directory: str
    """Identity of the data directory that its replicas were last known to be in."""
    draining: bool = False
    """Whether an operator wants it to lead nothing and, where there is room, to hold nothing."""
    epoch: int = 0
    """The last broker epoch that the controller has taken in. A live node with another one has
    not been judged since it registered, and is trusted with nothing on account of its past."""


class LiveNode(msgspec.Struct, frozen=True):
    registration: Registration
    epoch: int
    """The mod-revision of the registration's entry: the node's broker epoch."""
    draining: bool = False

    @property
    def id(self) -> int:
        return self.registration.node
