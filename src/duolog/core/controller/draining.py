"""Empties nodes that an operator wants to remove. Pure.

Leaders move at once to an in-sync replica. Replicas are reassigned to nodes that do not hold one
already; if there is none, they stay.
"""

from collections import Counter
from collections.abc import Sequence

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group
from duolog.core.controller.moves import first_fit, is_moving, move_leader
from duolog.core.controller.placement import crowding
from duolog.core.controller.reassignment import begun
from duolog.model.cluster import LiveNode

MOVING_MAX = 10
"""Groups that reassign at once: each copies a whole log."""


def leaders_moved_away(image: ClusterImage, now_ms: int) -> list[Decision]:
    census = Census(image)
    leaving = {node for node, live in image.live.items() if live.draining}
    moves = []
    for group in image.groups if leaving else ():
        leader = group[0].state.leader
        if leader not in leaving:
            continue
        successor = first_fit(group, group[0].state.replicas, census)
        if successor is not None:
            text = f"Node {leader} is draining; node {successor} leads."
            event = Event(now_ms, "leader moved", group[0].text, text)
            moves.append(move_leader(group, successor, census, event))
    return moves


def replicas_moved_away(image: ClusterImage, now_ms: int) -> list[Decision]:
    leaving = {node for node, record in image.records.items() if record.draining}
    if not leaving:
        return []
    groups = image.groups
    room = MOVING_MAX - sum(is_moving(group) for group in groups)
    census, held = Census(image), replica_counts(groups)
    moves: list[Decision] = []
    for group in groups:
        if len(moves) >= room:
            break
        if is_moving(group):
            continue
        move = _move(group, leaving, image, census, held, now_ms)
        if move is not None:
            moves.append(move)
    return moves


def replica_counts(groups: Sequence[Group]) -> Counter[int]:
    """The number of groups that each node has replicas of."""
    return Counter(node for group in groups for node in group[0].state.replicas)


def replacement(
    image: ClusterImage,
    census: Census,
    replicas: Sequence[int],
    leaving: int | None,
    held: Counter[int],
) -> LiveNode | None:
    """The best node to take over from `leaving`, or to join the replicas if that is None."""
    beside = [image.live[node] for node in replicas if node in image.live and node != leaving]
    fitting = [
        broker
        for broker in image.brokers
        if broker.id not in replicas and not any(census.reluctance(broker.id))
    ]
    return min(
        fitting,
        key=lambda broker: (*crowding(broker, beside), held[broker.id], broker.id),
        default=None,
    )


def reassigned(group: Group, target: Sequence[int], event: Event) -> Decision:
    states = [begun(member.state, target) for member in group]
    return Decision(difference(group, states), (), (event,))


def _move(
    group: Group,
    leaving: set[int],
    image: ClusterImage,
    census: Census,
    held: Counter[int],
    now_ms: int,
) -> Decision | None:
    target = list(group[0].state.replicas)
    for at, node in enumerate(target):
        if node not in leaving:
            continue
        chosen = replacement(image, census, target, node, held)
        if chosen is not None:
            target[at] = chosen.id
            held[chosen.id] += 1
            held[node] -= 1
    if target == list(group[0].state.replicas):
        return None
    gone = sorted(set(group[0].state.replicas) - set(target))
    text = f"Node {', '.join(map(str, gone))} is draining; the replicas move to {target}."
    event = Event(now_ms, "reassignment begun", group[0].text, text)
    return reassigned(group, target, event)
