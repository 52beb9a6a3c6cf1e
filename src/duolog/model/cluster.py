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


class LiveNode(msgspec.Struct, frozen=True):
    registration: Registration
    epoch: int
    """The mod-revision of the registration's entry: the node's broker epoch."""
    draining: bool = False

    @property
    def id(self) -> int:
        return self.registration.node
