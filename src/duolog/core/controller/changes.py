"""Decisions of the controller, in a form from which transactions are made."""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.core.controller.events import Event
from duolog.core.controller.image import Group, PartitionId
from duolog.model.cluster import LiveNode
from duolog.model.partition_state import PartitionState


class Change(NamedTuple):
    partition: PartitionId
    mod_revision: int
    """Mod-revision of the state that was decided upon; at any other one the decision is void."""
    state: PartitionState
    is_election: bool = False


class Decision(NamedTuple):
    """Changes to one group, committed all or none."""

    changes: tuple[Change, ...]
    elected: tuple[LiveNode, ...] = ()
    """New leaders, whose registrations must be unchanged at commit: a node that registered anew
    meanwhile, perhaps with an emptied disk, would lead with nothing."""
    events: tuple[Event, ...] = ()


class Batch(NamedTuple):
    """Decisions that fit into one transaction."""

    changes: tuple[Change, ...]
    elected: tuple[LiveNode, ...]
    events: tuple[Event, ...]


def difference(group: Group, states: Iterable[PartitionState]) -> tuple[Change, ...]:
    """The changes that bring the group's members to `states`, given in the members' order."""
    return tuple(
        Change(
            member.id,
            member.entry.mod_revision,
            state,
            state.leader_epoch != member.state.leader_epoch,
        )
        for member, state in zip(group, states, strict=True)
        if state != member.state
    )


def batches(decisions: Iterable[Decision], operations_max: int) -> list[Batch]:
    """Packs the decisions into as few transactions as possible.

    Each transaction compares the controller's epoch, the partitions that it changes, and the
    registrations of the leaders that it elects.
    """
    packed: list[Batch] = []
    pending: list[Decision] = []
    changes = 0
    elected: set[int] = set()
    for decision in decisions:
        changes += len(decision.changes)
        elected.update(node.id for node in decision.elected)
        if pending and 1 + len(elected) + changes > operations_max:
            packed.append(_batch(pending))
            pending = []
            changes = len(decision.changes)
            elected = {node.id for node in decision.elected}
        pending.append(decision)
    if pending:
        packed.append(_batch(pending))
    return [part for batch in packed for part in _divided(batch, operations_max)]


def _batch(decisions: list[Decision]) -> Batch:
    elected = {node.id: node for decision in decisions for node in decision.elected}
    return Batch(
        tuple(change for decision in decisions for change in decision.changes),
        tuple(elected.values()),
        tuple(event for decision in decisions for event in decision.events),
    )


def _divided(batch: Batch, operations_max: int) -> list[Batch]:
    """Splits a batch whose single group is too large: a topic with very many subscription
    queues."""
    room = operations_max - 1 - len(batch.elected)
    if len(batch.changes) <= room:
        return [batch]
    pieces = [batch.changes[first : first + room] for first in range(0, len(batch.changes), room)]
    last = len(pieces) - 1
    return [
        Batch(piece, batch.elected, batch.events if number == last else ())
        for number, piece in enumerate(pieces)
    ]
