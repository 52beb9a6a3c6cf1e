"""What the controller decided, in a form that transactions can be made of."""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.core.controller.events import Event
from duolog.core.controller.image import Group, PartitionId
from duolog.model.cluster import LiveNode
from duolog.model.partition_state import PartitionState


class Change(NamedTuple):
    partition: PartitionId
    mod_revision: int
    """Of the state that was decided upon. With another one the decision is void."""
    state: PartitionState
    is_election: bool = False


class Decision(NamedTuple):
    """About one group; all of it is done, or nothing."""

    changes: tuple[Change, ...]
    elected: tuple[LiveNode, ...] = ()
    """Whose registrations must still be these: had one registered anew meanwhile, from an
    emptied disk say, it would lead with nothing."""
    events: tuple[Event, ...] = ()


class Batch(NamedTuple):
    """Decisions that one transaction has room for."""

    changes: tuple[Change, ...]
    elected: tuple[LiveNode, ...]
    events: tuple[Event, ...]


def difference(group: Group, states: Iterable[PartitionState]) -> tuple[Change, ...]:
    """The changes that lead to these states, which are those of the group's members in order."""
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
    """The decisions, as few transactions as possible.

    Each compares the controller's epoch, what it changes, and whom it elects.
    """
    packed: list[Batch] = []
    pending: list[Decision] = []
    for decision in decisions:
        if pending and _compares([*pending, decision]) > operations_max:
            packed.append(_batch(pending))
            pending = []
        pending.append(decision)
    if pending:
        packed.append(_batch(pending))
    return [part for batch in packed for part in _divided(batch, operations_max)]


def _compares(decisions: list[Decision]) -> int:
    elected = {node.id for decision in decisions for node in decision.elected}
    return 1 + len(elected) + sum(len(decision.changes) for decision in decisions)


def _batch(decisions: list[Decision]) -> Batch:
    elected = {node.id: node for decision in decisions for node in decision.elected}
    return Batch(
        tuple(change for decision in decisions for change in decision.changes),
        tuple(elected.values()),
        tuple(event for decision in decisions for event in decision.events),
    )


def _divided(batch: Batch, operations_max: int) -> list[Batch]:
    """One group alone can be too large: a topic that very many queues subscribe to."""
    room = operations_max - 1 - len(batch.elected)
    if len(batch.changes) <= room:
        return [batch]
    pieces = [batch.changes[first : first + room] for first in range(0, len(batch.changes), room)]
    last = len(pieces) - 1
    return [
        Batch(piece, batch.elected, batch.events if number == last else ())
        for number, piece in enumerate(pieces)
    ]
