"""State of a partition in the metadata store: its replicas and its leader."""

import msgspec

NO_LEADER = -1
NO_EPOCH = -1


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
    incomplete: tuple[int, ...] = ()
    """Replicas that resigned because they, or the store, lack what was acknowledged; each until it
    is in sync again, all until an unclean election says which copy counts."""
    unclean_epoch: int = NO_EPOCH
    """Leader epoch of the last unclean election: what its leader had then is all that counts. The
    copies of the others may be cut for it."""

    @property
    def is_unclean(self) -> bool:
        """True if the present leader was elected though it may lack what was acknowledged."""
        return self.leader_epoch == self.unclean_epoch

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
