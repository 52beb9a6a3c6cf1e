"""Decides whether an elected copy leads or resigns, and what its resignation says. Pure.

The controller elects by what the store says; only the node knows what its disk holds. A copy that
finds that the two disagree neither leads nor keeps the leadership: with it nobody else could lead.
It leaves the in-sync set in the same transaction, or it would be elected again at once, without
end.

Why each transition is safe:

- **Records are missing here** (a directory was lost, or the log ends below its recovery point).
  Whatever was acknowledged is on the other members of the set, each of which still has all of it.
  The copy alone leaves. If it was the only member, nobody is left who is known to have everything:
  nobody leads until an unclean election, which the operator or the topic must ask for.
- **Damage was found.** The same, but only while another member or an eligible replica is left: the
  only complete copy serves what is intact.
- **The log has reached the epoch already.** An epoch is given once, so the store has gone back,
  and what it says of *every* member is of an earlier time: one of them may lack what the others
  acknowledged later. This copy may have more than they, or less. Nobody of them is trusted; an
  unclean election compares their logs. The resignation raises the epoch to the log's, so that the
  next leader's is new to it. A sole replica stays: nobody can have more than it.

After an unclean election the leader's log is all that counts, so it leads with what it has.
"""

from enum import Enum
from typing import NamedTuple

import msgspec

from duolog.model.partition_state import NO_LEADER, PartitionState


class Unfitness(Enum):
    """Why an elected copy refuses to lead."""

    INCOMPLETE = "records are missing on its disk"
    DAMAGED = "records are damaged on its disk, and others have them"
    OUTRUN = "its log has reached this leader epoch already: the metadata store has gone back"


class Copy(NamedTuple):
    """What a node knows about its own copy of a partition."""

    node: int
    last_epoch: int
    """Latest leader epoch that began in the log, with or without records."""
    led_epoch: int
    """Epoch in which this run of the node led last: it may go on in that one."""
    is_incomplete: bool
    is_damaged: bool


def unfitness(copy: Copy, state: PartitionState) -> Unfitness | None:
    """The reason why the elected copy must not lead; None if it may."""
    if has_outrun(copy, state):
        return Unfitness.OUTRUN
    if len(state.replicas) == 1:
        return None
    if copy.is_incomplete and not state.is_unclean:
        return Unfitness.INCOMPLETE
    others = {*state.in_sync, *state.eligible} - {copy.node}
    return Unfitness.DAMAGED if copy.is_damaged and others else None


def has_outrun(copy: Copy, state: PartitionState) -> bool:
    """True if the log has seen the epoch that this election began, or a later one."""
    return copy.last_epoch >= state.leader_epoch and copy.led_epoch != state.leader_epoch


def resigned(copy: Copy, state: PartitionState, why: Unfitness) -> PartitionState:
    """The state after the resignation of an elected copy: nobody leads."""
    epoch = state.leader_epoch
    in_sync, eligible = state.in_sync, state.eligible
    left: tuple[int, ...] = (copy.node,)
    if why is Unfitness.OUTRUN:
        epoch = max(epoch, copy.last_epoch)
        left = () if len(state.replicas) == 1 else (*in_sync, *eligible)
    return msgspec.structs.replace(
        state,
        leader=NO_LEADER,
        leader_epoch=epoch + 1,
        broker_epoch=0,
        in_sync=tuple(node for node in in_sync if node not in left),
        eligible=tuple(node for node in eligible if node not in left),
        incomplete=tuple(dict.fromkeys((*state.incomplete, *left))),
    )
