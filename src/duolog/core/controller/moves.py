"""Moves of a group's leader between complete replicas. Pure."""

from collections.abc import Iterable, Sequence

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import elected, least_in_sync, still_leads, sync_replicas
from duolog.core.controller.events import Event
from duolog.core.controller.image import Group, Member
from duolog.model.partition_state import NO_LEADER


def can_lead(group: Group, node: int, census: Census) -> bool:
    """True if the node can take over leadership without any record being lost."""
    return all(
        node in member.state.in_sync
        and node in sync_replicas(member.state)
        and census.is_steady(member, node)
        for member in group
    )


def is_led(group: Group) -> bool:
    return all(member.state.leader != NO_LEADER for member in group)


def is_moving(group: Group) -> bool:
    """True if a reassignment is under way."""
    return any(member.state.adding or member.state.removing for member in group)


def move_leader(group: Group, node: int, census: Census, *events: Event) -> Decision:
    live = census.live[node]
    states = [
        member.state if member.state.leader == node else elected(member.state, node, live.epoch)
        for member in group
    ]
    return Decision(difference(group, states), (live,), events)


def is_fit(group: Group, node: int, census: Census) -> bool:
    """True if the lead may be moved to the node without need: it can lead, and nothing speaks
    against it."""
    return can_lead(group, node, census) and not any(census.reluctance(node))


def first_fit(group: Group, nodes: Sequence[int], census: Census) -> int | None:
    return next((node for node in nodes if is_fit(group, node, census)), None)


def led_together(group: Group, census: Census) -> Iterable[Group]:
    """The group in parts that share a living leader; others are elected for first."""
    leaders = {member.state.leader for member in group}
    parts = [group] if len(leaders) == 1 else [(member,) for member in group]
    for part in parts:
        if all(still_leads(member, part[0].state.leader, census) for member in part):
            yield part


def complete_replicas(member: Member, census: Census) -> list[int]:
    """Living replicas that have everything that was acknowledged, the leader among them."""
    state = member.state
    found = list(state.in_sync)
    if len(found) < least_in_sync(member):
        # Nothing was acknowledged since the eligible ones left the set.
        found += [node for node in state.eligible if not census.may_have_lost(member, node)]
    return [node for node in found if census.is_steady(member, node)]
