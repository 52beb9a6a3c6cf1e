"""Election of the controller: by a leased entry, fenced by the controller's epoch.

The lease only decides when another node may try. The epoch keeps two controllers from both
deciding: the new one writes it when it is elected, and every transaction of the old one
compares it.
"""

from typing import NamedTuple

from duolog.broker.membership.entries import (
    CONTROLLER_EPOCH,
    CONTROLLER_LEADER,
    ControllerLeader,
    decode_epoch,
    encode,
    encode_epoch,
)
from duolog.broker.membership.membership import Membership
from duolog.ports.metastore import (
    Compare,
    LeaseExpired,
    LeaseId,
    MetaStore,
    Put,
    StoreUnavailable,
)


class Term(NamedTuple):
    """One node's time as controller."""

    epoch: int
    epoch_revision: int
    """Mod-revision of the epoch's entry, which each of the term's transactions compares."""
    lease: LeaseId
    """Lease of the election; a node that registers anew must stand again."""

    @property
    def compare(self) -> Compare:
        return Compare(CONTROLLER_EPOCH, self.epoch_revision)


class Deposed(Exception):
    """Another controller has been elected."""


async def stand(store: MetaStore, membership: Membership) -> Term | None:
    """Stands for election; None if another node is controller, or the outcome is unknown."""
    lease = membership.lease
    if lease is None or not membership.is_serving:
        return None
    try:
        if await store.get(CONTROLLER_LEADER) is not None:
            return await _recall(store, lease)
        present = await store.get(CONTROLLER_EPOCH)
        epoch = decode_epoch(present) + 1
        leader = ControllerLeader(membership.node, membership.incarnation)
        result = await store.transact(
            [
                Compare(CONTROLLER_LEADER, 0),
                Compare(CONTROLLER_EPOCH, present.mod_revision if present else 0),
            ],
            [
                Put(CONTROLLER_LEADER, encode(leader), lease),
                Put(CONTROLLER_EPOCH, encode_epoch(epoch)),
            ],
        )
    except (StoreUnavailable, LeaseExpired):
        return None
    return Term(epoch, result.revision, lease) if result.committed else None


async def _recall(store: MetaStore, lease: LeaseId) -> Term | None:
    """Finds this node's term if it was elected before, but the answer was lost or the term ended
    early because the store could not be read."""
    entry = await store.get(CONTROLLER_LEADER)
    epoch = await store.get(CONTROLLER_EPOCH)
    if entry is None or epoch is None or entry.lease != lease:
        return None
    # One transaction writes both. Different revisions: another node was elected in between.
    if entry.mod_revision != epoch.mod_revision:
        return None
    return Term(decode_epoch(epoch), epoch.mod_revision, lease)
