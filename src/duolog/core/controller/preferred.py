"""Moves leaders back to their preferred node: the first of a partition's replicas. Pure.

While a node is away, others lead its partitions. Once it is in sync again it gets them back, so
that load stays where placement has spread it.
"""

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group
from duolog.core.controller.moves import is_fit, is_led, is_moving, move_leader

MOVES_MAX = 100
"""Moves in one round: each interrupts the writers of one partition for a moment."""


def preferred_moves(image: ClusterImage, now_ms: int) -> list[Decision]:
    census = Census(image)
    moves: list[Decision] = []
    for group in image.groups:
        if len(moves) == MOVES_MAX:
            break
        preferred = group[0].state.replicas[0]
        if group[0].state.leader == preferred or not is_led(group) or is_moving(group):
            continue
        if is_fit(group, preferred, census):
            moves.append(move_leader(group, preferred, census, _event(group, preferred, now_ms)))
    return moves


def _event(group: Group, preferred: int, now_ms: int) -> Event:
    return Event(
        now_ms,
        "leader moved",
        group[0].text,
        f"Node {preferred}, the preferred leader, is in sync; node {group[0].state.leader} led.",
    )
