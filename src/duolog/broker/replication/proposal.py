"""A proposal, as one transaction: changes of in-sync sets, or a resignation of the lead."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.membership.entries import broker_key
from duolog.broker.partition import Partition
from duolog.core.replica.leadership import Leadership
from duolog.core.replica.resignation import Unfitness, resigned
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.ports.metastore import Compare, Put


@dataclass(frozen=True, slots=True)
class Change:
    partition: Partition
    leadership: Leadership | None
    """The leadership that proposed it; a later one makes its own proposals."""
    entry: PartitionEntry
    state: PartitionState
    entering: tuple[Compare, ...] = ()
    """Broker epochs of the entering nodes: a node restarted since has not caught up."""

    @property
    def key(self) -> str:
        return partition_key(self.partition.topic.id, self.partition.index)

    @property
    def is_open(self) -> bool:
        """True if the leadership that proposed it still waits for the outcome."""
        leadership = self.leadership
        return (
            leadership is not None
            and self.partition.leadership is leadership
            and leadership.proposed == self.state.in_sync
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    changes: Sequence[Change]
    """Changes of companions, committed together or not at all."""

    def compares(self, controller_epoch: Compare) -> list[Compare]:
        compares = {controller_epoch.key: controller_epoch}
        for change in self.changes:
            compares[change.key] = Compare(change.key, change.entry.mod_revision)
            compares.update({each.key: each for each in change.entering})
        return list(compares.values())

    def operations(self) -> list[Put]:
        return [Put(change.key, encode_state(change.state)) for change in self.changes]

    @property
    def is_open(self) -> bool:
        return any(change.is_open for change in self.changes)


def changed_in_sync(
    partition: Partition, leadership: Leadership, in_sync: tuple[int, ...]
) -> Change | None:
    """The change to this in-sync set; None if the electable replicas stay the same."""
    entry = partition.entry
    assert entry is not None
    old = entry.state
    is_same = set(in_sync) == set(old.in_sync)
    if is_same and not old.eligible:
        return None
    eligible: tuple[int, ...] = ()
    if len(in_sync) < leadership.min_in_sync:
        # Below min.insync nothing is acknowledged, so replicas that had everything still do.
        had_all = dict.fromkeys((*old.eligible, *old.in_sync))
        eligible = tuple(
            node
            for node in had_all
            if node not in in_sync
            and leadership.knows(node)
            and not leadership.has_fallen_back(node)
        )
    if is_same and eligible == old.eligible:
        return None
    incomplete = tuple(node for node in old.incomplete if node not in in_sync)
    state = msgspec.structs.replace(old, in_sync=in_sync, eligible=eligible, incomplete=incomplete)
    entering = tuple(
        Compare(broker_key(node), leadership.broker_epoch(node))
        for node in in_sync
        if node not in old.in_sync
    )
    return Change(partition, leadership, entry, state, entering)


def resignation(partition: Partition, node: int, why: Unfitness) -> Change | None:
    """The node's resignation of the lead that it refuses; None if it was not elected, or leads."""
    entry = partition.entry
    if entry is None or entry.state.leader != node or partition.leads:
        return None
    state = resigned(partition.copy_on(node), entry.state, why)
    return Change(partition, None, entry, state)
