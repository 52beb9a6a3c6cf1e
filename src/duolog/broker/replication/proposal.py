"""A change of in-sync sets, or the wish not to lead, as one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.membership.entries import broker_key
from duolog.broker.partition import Partition
from duolog.core.replica.leadership import Leadership
from duolog.model.partition_state import NO_LEADER, PartitionEntry, PartitionState
from duolog.ports.metastore import Compare, Put


@dataclass(frozen=True, slots=True)
class Change:
    partition: Partition
    leadership: Leadership | None
    """That proposed it; another one has its own proposals."""
    entry: PartitionEntry
    state: PartitionState
    entering: tuple[Compare, ...] = ()
    """The runs that caught up: a node that was started since is not the one that did."""

    @property
    def key(self) -> str:
        return partition_key(self.partition.topic.id, self.partition.index)

    @property
    def is_open(self) -> bool:
        """Whether the partition's leader still waits for the outcome."""
        leadership = self.leadership
        return (
            leadership is not None
            and self.partition.leadership is leadership
            and leadership.proposed == self.state.in_sync
        )


@dataclass(frozen=True, slots=True)
class Proposal:
    changes: Sequence[Change]
    """Of companions, which change together or not at all."""

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
    """None if nothing changes about who can be elected."""
    entry = partition.entry
    assert entry is not None
    old = entry.state
    is_same = set(in_sync) == set(old.in_sync)
    if is_same and not old.eligible:
        return None
    eligible: tuple[int, ...] = ()
    if len(in_sync) < leadership.min_in_sync:
        # Nothing is acknowledged by so few, so whoever had everything still has.
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
    state = msgspec.structs.replace(old, in_sync=in_sync, eligible=eligible)
    entering = tuple(
        Compare(broker_key(node), leadership.broker_epoch(node))
        for node in in_sync
        if node not in old.in_sync
    )
    return Change(partition, leadership, entry, state, entering)


def resigned(partition: Partition, node: int) -> Change | None:
    """The node leaves the lead to whoever else has everything; None if there is nobody."""
    entry = partition.entry
    if entry is None or entry.state.leader != node:
        return None
    old = entry.state
    others = tuple(each for each in old.in_sync if each != node)
    eligible = tuple(each for each in old.eligible if each != node)
    if not others and not eligible:
        return None
    state = msgspec.structs.replace(
        old,
        leader=NO_LEADER,
        leader_epoch=old.leader_epoch + 1,
        in_sync=others,
        eligible=eligible,
        broker_epoch=0,
    )
    return Change(partition, None, entry, state)
