"""Brings a partition's replicas to other nodes. Pure.

A reassignment adds the new replicas first and removes the old ones when all added ones are in sync,
so that there are never fewer copies than before. Companions move together.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import elected
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group, Member
from duolog.core.controller.moves import can_lead, is_moving
from duolog.model.partition_state import PartitionState


def target_of(state: PartitionState) -> tuple[int, ...]:
    """The replicas after the reassignment under way, if there is one."""
    return tuple(node for node in state.replicas if node not in state.removing)


def begun(state: PartitionState, target: Sequence[int]) -> PartitionState:
    """The state with a reassignment to `target` begun; it replaces one that is under way."""
    # Replicas that an earlier reassignment has already brought in sync leave as any other does.
    has_everything = {*state.in_sync, *state.eligible}
    original = [
        node for node in state.replicas if node not in state.adding or node in has_everything
    ]
    leaving = tuple(node for node in original if node not in target)
    replicas = (*target, *leaving)
    waited_for = max(1, len(target) - len(state.asynchronous))
    asynchronous = [node for node in target[waited_for:] if node not in state.in_sync]
    asynchronous += [node for node in state.asynchronous if node in leaving]
    return replace(
        state,
        replicas=replicas,
        eligible=tuple(node for node in state.eligible if node in replicas),
        incomplete=tuple(node for node in state.incomplete if node in replicas),
        adding=tuple(node for node in target if node not in original),
        removing=leaving,
        asynchronous=tuple(asynchronous),
    )


def has_enough(member: Member, kept: Sequence[int]) -> bool:
    """True if all copies but `kept` can be given up.

    The in-sync members that stay must be enough to acknowledge, unless the present ones are not.
    Eligible replicas count as present, for they may be the ones that return.
    """
    state = member.state
    there_are = len(state.in_sync) + len(state.eligible)
    enough = min(member.topic.min_in_sync, there_are, len(kept))
    return sum(node in kept for node in state.in_sync) >= max(1, enough)


def cancelled(state: PartitionState) -> PartitionState:
    """The state with the replicas from before the reassignment; one of them must lead."""
    original = tuple(node for node in state.replicas if node not in state.adding)
    assert state.leader not in state.adding
    return replace(
        state,
        replicas=original,
        in_sync=tuple(node for node in state.in_sync if node in original),
        eligible=tuple(node for node in state.eligible if node in original),
        incomplete=tuple(node for node in state.incomplete if node in original),
        adding=(),
        removing=(),
        asynchronous=tuple(node for node in state.asynchronous if node in original),
    )


def reassignment_steps(image: ClusterImage, now_ms: int) -> list[Decision]:
    """Reassignments that can be finished, and companions to be brought together."""
    census = Census(image)
    steps = []
    for group in image.groups:
        if not is_moving(group) and is_together(group):
            continue
        step = _brought_together(group, now_ms) or _finished(group, census, now_ms)
        if step is not None:
            steps.append(step)
    return steps


def is_together(group: Group) -> bool:
    """True if all companions have the replicas of the partition that they accompany."""
    replicas = group[0].state.replicas
    return all(member.state.replicas == replicas for member in group)


def _brought_together(group: Group, now_ms: int) -> Decision | None:
    """Reassigns companions to the replicas, or the target, of the partition of the messages."""
    target = target_of(group[0].state)
    states = [
        member.state if target_of(member.state) == target else begun(member.state, target)
        for member in group
    ]
    changes = difference(group, states)
    text = f"Follows {group[0].text} to node {', '.join(map(str, target))}."
    events = [
        Event(now_ms, "reassignment begun", member.text, text)
        for member, state in zip(group, states, strict=True)
        if state != member.state
    ]
    return Decision(changes, (), tuple(events)) if changes else None


def _finished(group: Group, census: Census, now_ms: int) -> Decision | None:
    if not all(_is_filled(member) for member in group):
        return None
    target = target_of(group[0].state)
    leader = group[0].state.leader
    if leader not in target or not can_lead(group, leader, census):
        able = [node for node in target if can_lead(group, node, census)]
        if not able:
            return None
        # A draining leader is better than none at all.
        leader = min(able, key=census.reluctance)
    states = [_without_removed(member.state, leader, census) for member in group]
    text = f"The replicas are on node {', '.join(map(str, target))}, led by {leader}."
    event = Event(now_ms, "reassignment finished", group[0].text, text)
    return Decision(difference(group, states), (census.live[leader],), (event,))


def _is_filled(member: Member) -> bool:
    state = member.state
    waited_for = [node for node in state.adding if node not in state.asynchronous]
    all_are_there = all(node in state.in_sync for node in waited_for)
    return all_are_there and has_enough(member, target_of(state))


def _without_removed(state: PartitionState, leader: int, census: Census) -> PartitionState:
    target = target_of(state)
    kept = replace(
        state,
        replicas=target,
        in_sync=tuple(node for node in state.in_sync if node in target),
        eligible=tuple(node for node in state.eligible if node in target),
        incomplete=tuple(node for node in state.incomplete if node in target),
        adding=(),
        removing=(),
        asynchronous=tuple(node for node in state.asynchronous if node in target),
    )
    if kept.leader == leader:
        return kept
    return elected(kept, leader, census.live[leader].epoch)
