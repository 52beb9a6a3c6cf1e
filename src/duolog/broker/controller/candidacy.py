"""Whether this node is the controller: elected by its lease, fenced by the controller's epoch.

The lease only decides when another may try. What keeps two controllers from both deciding is
the epoch: the new one writes it when it is elected, and every transaction of the old one
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
    """The time during which one node decides."""

    epoch: int
    epoch_revision: int
    """What each of its transactions compares."""
    lease: LeaseId
    """Under which it was elected; a node that has registered anew stands for election again."""

    @property
    def compare(self) -> Compare:
        return Compare(CONTROLLER_EPOCH, self.epoch_revision)


class Deposed(Exception):
    """Another controller has been elected."""


async def stand(store: MetaStore, membership: Membership) -> Term | None:
    """Try to be elected; None if another is, or if nothing is known of the outcome."""
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
    """The term of this node, if it was elected and has not heard of it: its answer was lost,
    or it could not read what it has to decide upon."""
    entry = await store.get(CONTROLLER_LEADER)
    epoch = await store.get(CONTROLLER_EPOCH)
    if entry is None or epoch is None or entry.lease != lease:
        return None
    # Both were written by one transaction. If not, somebody was elected in between.
    if entry.mod_revision != epoch.mod_revision:
        return None
    return Term(decode_epoch(epoch), epoch.mod_revision, lease)
