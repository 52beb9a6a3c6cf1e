"""Who holds a partition and who leads it: what the metadata store keeps of each."""

import msgspec

NO_LEADER = -1


class PartitionState(msgspec.Struct, frozen=True):
    leader: int
    """NO_LEADER while nobody may lead."""
    leader_epoch: int
    """Raised with every election, also when the same node is elected again."""
    replicas: tuple[int, ...]
    """All nodes that hold a copy; the first is the preferred leader."""
    in_sync: tuple[int, ...]
    """Replicas that have everything that was acknowledged. Never empty, unless all was lost."""
    eligible: tuple[int, ...] = ()
    """Not in sync any more, but nothing was acknowledged since: they may lead, too."""
    adding: tuple[int, ...] = ()
    """Those of the replicas that a reassignment brings in."""
    removing: tuple[int, ...] = ()
    """Those of the replicas that go once all that are added are in sync."""
    asynchronous: tuple[int, ...] = ()
    """Those of the replicas that follow but are never waited for, nor elected."""
    broker_epoch: int = 0
    """The leader's own when it was elected. A node that has registered anew since does not lead
    before it is elected again: it cannot know what was decided while it was away."""

    @property
    def dependable_count(self) -> int:
        """How many can be asked to be in sync. Not those that are only being brought in: a
        partition that gets its second replica would take no write until that has everything."""
        left_out = {*self.asynchronous, *self.adding}
        return max(1, sum(node not in left_out for node in self.replicas))


class PartitionEntry(msgspec.Struct, frozen=True):
    state: PartitionState
    mod_revision: int
    """Of the store's entry; a transaction that changes the state compares it."""
