"""Moves leaders back to their preferred node: the first of a partition's replicas.

While a node is away, others lead its partitions. Once it is in sync again it gets them back, so
that load stays where placement has spread it. A partition of the offsets topic waits, for a
limited time, while its groups rebalance. Pure but for its memory of that.
"""

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group, PartitionId
from duolog.core.controller.moves import is_fit, is_led, is_moving, move_leader
from duolog.model.limits import REBALANCE_AWAITED_MS_MAX

MOVES_MAX = 100
"""Moves in one round: each interrupts the writers of one partition for a moment."""


class PreferredLeaders:
    """Remembers since when a move waits for the rebalances of groups, which it would start over."""

    def __init__(self) -> None:
        self._held_since_ms: dict[PartitionId, int] = {}

    def moves(self, image: ClusterImage, now_ms: int) -> list[Decision]:
        census = Census(image)
        moves: list[Decision] = []
        held: dict[PartitionId, int] = {}
        for group in image.groups:
            if len(moves) == MOVES_MAX:
                # The others wait on: the next round looks at them.
                held = self._held_since_ms | held
                break
            preferred = group[0].state.replicas[0]
            if group[0].state.leader == preferred or not is_led(group) or is_moving(group):
                continue
            if not is_fit(group, preferred, census):
                continue
            if census.is_rebalancing(group[0]):
                since_ms = self._held_since_ms.get(group[0].id, now_ms)
                held[group[0].id] = since_ms
                # Over also if the clock was set back.
                if 0 <= now_ms - since_ms < REBALANCE_AWAITED_MS_MAX:
                    continue
            moves.append(move_leader(group, preferred, census, _event(group, preferred, now_ms)))
        self._held_since_ms = held
        return moves


def _event(group: Group, preferred: int, now_ms: int) -> Event:
    return Event(
        now_ms,
        "leader moved",
        group[0].text,
        f"Node {preferred}, the preferred leader, is in sync; node {group[0].state.leader} led.",
    )
