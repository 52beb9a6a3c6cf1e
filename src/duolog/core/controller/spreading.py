"""Moves replicas to nodes that hold fewer than the others, above all to a new node. Pure."""

from collections import Counter
from collections.abc import Sequence

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision
from duolog.core.controller.draining import reassigned, replacement, replica_counts
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group
from duolog.core.controller.moves import is_led, is_moving

MOVING_MAX = 5
"""Groups that reassign at once: evening out is never urgent."""

TOLERATED_SHARE = 0.2
TOLERATED_LEAST = 1
"""Tolerated difference between two nodes: this share of the average, at least this many
replicas."""


def spreading_moves(image: ClusterImage, now_ms: int) -> list[Decision]:
    groups, census = image.groups, Census(image)
    nodes = [broker.id for broker in image.brokers if not any(census.reluctance(broker.id))]
    room = MOVING_MAX - sum(is_moving(group) for group in groups)
    if len(nodes) < 2 or room <= 0:
        return []
    return _Spreading(image, census, groups, nodes, now_ms).moves(room)


class _Spreading:
    def __init__(
        self,
        image: ClusterImage,
        census: Census,
        groups: Sequence[Group],
        nodes: list[int],
        now_ms: int,
    ) -> None:
        self._image = image
        self._census = census
        self._groups = [group for group in groups if is_led(group) and not is_moving(group)]
        self._nodes = nodes
        self._now_ms = now_ms
        self._held = replica_counts(groups)
        self._led = Counter(group[0].state.replicas[0] for group in groups)

    def moves(self, room: int) -> list[Decision]:
        moves: list[Decision] = []
        while len(moves) < room and (move := self._next()) is not None:
            moves.append(move)
        return moves

    def _next(self) -> Decision | None:
        fullest = max(self._nodes, key=lambda node: (self._held[node], -node))
        emptiest = min(self._nodes, key=lambda node: (self._held[node], node))
        average = sum(self._held[node] for node in self._nodes) / len(self._nodes)
        tolerated = max(TOLERATED_LEAST, TOLERATED_SHARE * average)
        if self._held[fullest] - self._held[emptiest] <= tolerated:
            return None
        # Moving a preferred leader's replica moves the leadership with it.
        wants_leader = self._led[fullest] > self._led[emptiest]
        for is_leader in (wants_leader, not wants_leader):
            for group in self._groups:
                replicas = group[0].state.replicas
                if fullest not in replicas or (replicas[0] == fullest) != is_leader:
                    continue
                chosen = replacement(self._image, self._census, replicas, fullest, self._held)
                if chosen is not None and chosen.id == emptiest:
                    return self._move(group, fullest, emptiest)
        return None

    def _move(self, group: Group, fullest: int, emptiest: int) -> Decision:
        self._groups.remove(group)
        replicas = group[0].state.replicas
        target = tuple(emptiest if node == fullest else node for node in replicas)
        self._held[fullest] -= 1
        self._held[emptiest] += 1
        if replicas[0] == fullest:
            self._led[fullest] -= 1
            self._led[emptiest] += 1
        text = f"Node {emptiest} holds fewer replicas than node {fullest}, and gets one of them."
        event = Event(self._now_ms, "reassignment begun", group[0].text, text)
        return reassigned(group, target, event)
