"""Adds the replicas that a topic lacks because it was made with too few brokers alive. Pure.

A topic that is made without a number of replicas gets the default, limited by the brokers alive.
The first node of a cluster creates the offsets topic alone, and nobody would ever ask for more
copies of it.
"""

from collections import Counter

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision
from duolog.core.controller.draining import reassigned, replacement, replica_counts
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group
from duolog.core.controller.moves import is_led, is_moving

MOVING_MAX = 20
"""Groups that reassign at once. Each is paced, but a new broker should not follow all at once."""


def completed_replicas(image: ClusterImage, now_ms: int) -> list[Decision]:
    if all(topic.factor is None for topic in image.topics.values()):
        return []
    groups = image.groups
    room = MOVING_MAX - sum(is_moving(group) for group in groups)
    census, held = Census(image), replica_counts(groups)
    found: list[Decision] = []
    for group in groups:
        if len(found) >= room:
            break
        if is_led(group) and not is_moving(group):
            decision = _completed(group, image, census, held, now_ms)
            if decision is not None:
                found.append(decision)
    return found


def _completed(
    group: Group, image: ClusterImage, census: Census, held: Counter[int], now_ms: int
) -> Decision | None:
    wanted = group[0].topic.factor or 0
    target = list(group[0].state.replicas)
    while len(target) < wanted:
        chosen = replacement(image, census, target, None, held)
        if chosen is None:
            break
        target.append(chosen.id)
        held[chosen.id] += 1
    added = target[len(group[0].state.replicas) :]
    if not added:
        return None
    text = (
        f"It was created with fewer brokers; {len(target)} of {wanted} replicas are possible now:"
        f" also on node {', '.join(map(str, added))}."
    )
    return reassigned(group, target, Event(now_ms, "reassignment begun", group[0].text, text))
