"""A node's statement about itself, on which the controller bases who leads and who is in sync."""

import msgspec


class Statement(msgspec.Struct, frozen=True):
    """What one node says of itself and its links. It counts only while the node is alive under the
    broker epoch that it names."""

    node: int
    epoch: int
    """Broker epoch under which the node said this."""
    unreachable: tuple[int, ...] = ()
    """Nodes that it has tried for a while, and heard nothing of."""
    readers: tuple[int, ...] = ()
    """Nodes that have lately fetched from it: they reach it, whatever they said before."""
    full: bool = False
    """True if its log directory has no room for new records."""
    rebalancing: tuple[int, ...] = ()
    """Partitions of the offsets topic that it leads in another's place while groups rebalance."""
