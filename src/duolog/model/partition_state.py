"""State of a partition in the metadata store: its replicas and its leader."""

import msgspec

NO_LEADER = -1


class PartitionState(msgspec.Struct, frozen=True):
    leader: int
    """Node that leads; NO_LEADER while nobody may."""
    leader_epoch: int
    """Number of the last election; raised also if the same node is elected again."""
    replicas: tuple[int, ...]
    """Nodes that hold a copy; the first is the preferred leader."""
    in_sync: tuple[int, ...]
    """Replicas that have everything that was acknowledged. Never empty, unless all was lost."""
    eligible: tuple[int, ...] = ()
    """Replicas that left the in-sync set, but nothing was acknowledged since: they may lead,
    too."""
    adding: tuple[int, ...] = ()
    """Replicas that a reassignment adds."""
    removing: tuple[int, ...] = ()
    """Replicas that a reassignment removes once all added ones are in sync."""
    asynchronous: tuple[int, ...] = ()
    """Replicas that follow but are never waited for, nor elected."""
    broker_epoch: int = 0
    """Leader's broker epoch at its election. A node that has registered anew since does not lead
    before it is elected again: it cannot know what was decided while it was away."""

    @property
    def dependable_count(self) -> int:
        """Number of replicas that can be required to be in sync.

        Replicas that are being added do not count: a partition that gets its second replica would
        take no write until that has everything.
        """
        left_out = {*self.asynchronous, *self.adding}
        return max(1, sum(node not in left_out for node in self.replicas))


class PartitionEntry(msgspec.Struct, frozen=True):
    state: PartitionState
    mod_revision: int
    """Revision of the store's entry; a transaction that changes the state compares it."""
