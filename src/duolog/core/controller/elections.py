"""Decides who leads a partition and who is in sync, after nodes came or went. Pure.

A group of companions is decided as one. They are led apart only while no node has everything of all
of them but each has a node with everything of it, until they have copied from each other. The
rules, in the order in which they are tried:

1. A leader stays as long as it is alive under the epoch that it was elected under.
2. Else the first replica that is alive and in sync, preferably one that the others reach, that has
   room on its disk, and that is not draining.
3. Else a returned one that was in sync: with the others gone it has all there is.
4. Else an eligible one: nothing was acknowledged since it was in sync.
5. Else, only if the topic allows unclean elections, or an operator asks for one: of the live
   replicas the one with the longest log, by last epoch and end; what it lacks is lost.
6. Else nobody, until a member of the last in-sync set returns.

A node that is not alive, or has registered anew, leaves the in-sync set as long as somebody stays
in it. The controller never adds a member: the leader does, once a replica has caught up.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from duolog.core.controller.census import Census, Standing
from duolog.core.controller.image import Group, Member, PartitionId
from duolog.model.cluster import LiveNode
from duolog.model.partition_state import NO_LEADER, PartitionState


class Choice(NamedTuple):
    leader: int
    is_unclean: bool = False


def settle(group: Group, census: Census) -> tuple[PartitionState, ...]:
    """The states that the group's members should have, in the members' order."""
    if len(group) > 1 and not _shared_replicas(group):
        # Companions that are not yet on the same nodes must each be led, or the reassignment that
        # brings them together could never copy anything.
        return tuple(state for member in group for state in settle((member,), census))
    choice = _choose(group, census)
    choices = [choice] * len(group) if choice is not None else _choose_apart(group, census)
    return tuple(
        _settled(member, each, census) for member, each in zip(group, choices, strict=True)
    )


def still_leads(member: Member, node: int, census: Census) -> bool:
    """True if the node is alive under the epoch under which it was elected leader."""
    live = census.live.get(node)
    state = member.state
    return live is not None and state.leader == node and state.broker_epoch == live.epoch


def sync_replicas(state: PartitionState) -> tuple[int, ...]:
    """Replicas that may be in sync and lead, in order of preference."""
    return tuple(node for node in state.replicas if node not in state.asynchronous)


def elected(state: PartitionState, leader: int, broker_epoch: int) -> PartitionState:
    """The state after an election; the in-sync set is not changed yet."""
    return msgspec.structs.replace(
        state,
        leader=leader,
        leader_epoch=state.leader_epoch + 1,
        broker_epoch=broker_epoch,
    )


def _shared_replicas(group: Group) -> list[int]:
    first, *others = (sync_replicas(member.state) for member in group)
    return [node for node in first if all(node in other for other in others)]


def _in_order(group: Group) -> list[int]:
    """Candidates that could lead every member of the group.

    The leader of the messages comes first: where companions disagree, that changes least.
    """
    current = group[0].state.leader
    order = _shared_replicas(group)
    if current in order:
        order.remove(current)
        order.insert(0, current)
    return order


def unclean_candidates(group: Group, census: Census) -> dict[PartitionId, tuple[LiveNode, ...]]:
    """The live replicas between which an unclean election has to decide, by partition.

    The election waits until `census` knows where their logs end.
    """
    if len(group) > 1 and not _shared_replicas(group):
        apart = [unclean_candidates((member,), census) for member in group]
        return {partition: nodes for found in apart for partition, nodes in found.items()}
    if not group[0].topic.is_unclean_allowed or _choose(group, census) is not None:
        return {}
    return {
        member.id: tuple(
            census.live[node] for node in sync_replicas(member.state) if node in census.live
        )
        for member in group
        if _choose((member,), census) is None
    }


def _choose_apart(group: Group, census: Census) -> list[Choice]:
    """Chooses a leader per companion when no node can lead them all.

    A companion of which nobody has everything is led uncleanly where that is allowed; else nobody
    leads any of them. Nothing that the others acknowledged is lost for it.
    """
    choices: list[Choice] = []
    for member in group:
        choice = _choose((member,), census)
        if choice is None and group[0].topic.is_unclean_allowed:
            preferred = choices[0].leader if choices else NO_LEADER
            choice = choose_uncleanly(member, census, preferred)
        if choice is None:
            return [Choice(NO_LEADER)] * len(group)
        choices.append(choice)
    return choices


def _choose(group: Group, census: Census) -> Choice | None:
    current = group[0].state.leader
    if all(still_leads(member, current, census) for member in group):
        return Choice(current)
    order = _in_order(group)
    for fits in (_leads_at_once, _led_last, _is_eligible):
        leader = _first(order, group, census, fits)
        if leader is not None:
            return Choice(leader)
    return None


def choose_uncleanly(member: Member, census: Census, preferred: int = NO_LEADER) -> Choice | None:
    """The live replica with the longest log; None until that is known of any.

    No other live node has an acknowledged record that this one lacks: the leader of a later epoch
    had everything that was acknowledged before it, and within one epoch all logs are prefixes of
    the leader's. Of equal ones `preferred` leads, or else the first that nothing
    speaks against.
    """
    ends = census.log_ends(member)
    order = [node for node in sync_replicas(member.state) if node in census.live and node in ends]
    if not order:
        return None
    leader = max(
        order,
        key=lambda node: (
            ends[node],
            node == preferred,
            tuple(not each for each in census.reluctance(node)),
            -order.index(node),
        ),
    )
    return Choice(leader, is_unclean=True)


Fits = Callable[[Member, int, Census], bool]


def _first(order: Sequence[int], group: Group, census: Census, fits: Fits) -> int | None:
    fitting = [node for node in order if all(fits(member, node, census) for member in group)]
    return min(fitting, key=census.reluctance, default=None)


def _leads_at_once(member: Member, node: int, census: Census) -> bool:
    return node in member.state.in_sync and census.is_steady(member, node)


def _led_last(member: Member, node: int, census: Census) -> bool:
    return node in census.live and node in _last_in_sync(member, census)


def _is_eligible(member: Member, node: int, census: Census) -> bool:
    if _led_last(member, node, census):
        return True
    # A set that is large enough acknowledges without the eligible nodes, even when it became large
    # enough only because min.insync.replicas was lowered.
    return (
        node in census.live
        and node in member.state.eligible
        and len(member.state.in_sync) < least_in_sync(member)
        and not census.may_have_lost(member, node)
    )


def _last_in_sync(member: Member, census: Census) -> tuple[int, ...]:
    """The in-sync set without members that may have lost records.

    If all may have, those that returned with their own disks: nothing better is to be had.
    """
    in_sync = member.state.in_sync
    trusted = tuple(node for node in in_sync if not census.may_have_lost(member, node))
    if trusted:
        return trusted
    return tuple(node for node in in_sync if census.standing(member, node) is not Standing.EMPTIED)


def least_in_sync(member: Member) -> int:
    return min(member.topic.min_in_sync, member.state.dependable_count)


def _settled(member: Member, choice: Choice, census: Census) -> PartitionState:
    state = member.state
    leader = choice.leader
    if choice.is_unclean:
        return _led_uncleanly(member, leader, census)
    in_sync = _kept_in_sync(member, leader, census)
    eligible = _kept_eligible(member, in_sync, census)
    if in_sync != state.in_sync or eligible != state.eligible:
        state = msgspec.structs.replace(state, in_sync=in_sync, eligible=eligible)
    if leader == NO_LEADER:
        return state if state.leader == NO_LEADER else elected(state, NO_LEADER, 0)
    if still_leads(member, leader, census):
        return state
    return elected(state, leader, census.live[leader].epoch)


def _led_uncleanly(member: Member, leader: int, census: Census) -> PartitionState:
    """The state after an unclean election: what the leader has is all that counts.

    Its epoch is above those of all logs that were asked, which the store may not know.
    """
    reached = max(end.last_epoch for end in census.log_ends(member).values())
    epoch = max(member.state.leader_epoch, reached)
    before = msgspec.structs.replace(
        member.state,
        leader_epoch=epoch,
        in_sync=(leader,),
        eligible=(),
        incomplete=(),
        unclean_epoch=epoch + 1,
    )
    return elected(before, leader, census.live[leader].epoch)


def _kept_in_sync(member: Member, leader: int, census: Census) -> tuple[int, ...]:
    if leader == NO_LEADER:
        # Members that are not alive stay, too: companions may have no live member in common.
        return _last_in_sync(member, census)
    in_sync = member.state.in_sync
    kept = tuple(node for node in in_sync if node == leader or census.is_steady(member, node))
    return kept if leader in kept else (*kept, leader)


def _kept_eligible(member: Member, in_sync: tuple[int, ...], census: Census) -> tuple[int, ...]:
    """Nodes that left the in-sync set now or earlier, while the set that stays is too small to
    acknowledge anything."""
    if len(in_sync) >= least_in_sync(member):
        return ()
    were_in = dict.fromkeys((*member.state.eligible, *member.state.in_sync))
    return tuple(
        node for node in were_in if node not in in_sync and not census.may_have_lost(member, node)
    )
