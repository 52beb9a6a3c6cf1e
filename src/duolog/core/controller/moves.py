"""Moves of a group's leader between in-sync replicas. Pure."""

from collections.abc import Sequence

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import elected, sync_replicas
from duolog.core.controller.events import Event
from duolog.core.controller.image import Group
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
