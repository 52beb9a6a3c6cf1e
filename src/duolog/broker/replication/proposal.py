"""A change of in-sync sets, or the wish not to lead, as one transaction."""

from collections.abc import Iterator, Sequence
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

    @property
    def key(self) -> str:
        return partition_key(self.partition.topic.id, self.partition.index)

    def entering(self) -> Iterator[Compare]:
        """A node that has been started since it caught up is not the one that did."""
        for node in self.state.in_sync:
            if self.leadership is not None and node not in self.entry.state.in_sync:
                yield Compare(broker_key(node), self.leadership.broker_epoch(node))

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
            compares.update({each.key: each for each in change.entering()})
        return list(compares.values())

    def operations(self) -> list[Put]:
        return [Put(change.key, encode_state(change.state)) for change in self.changes]

    @property
    def is_open(self) -> bool:
        return any(change.is_open for change in self.changes)


def changed_in_sync(
    partition: Partition, leadership: Leadership, in_sync: tuple[int, ...]
) -> Change:
    entry = partition.entry
    assert entry is not None
    old = entry.state
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
    state = msgspec.structs.replace(old, in_sync=in_sync, eligible=eligible)
    return Change(partition, leadership, entry, state)


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
