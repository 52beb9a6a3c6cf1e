"""Moves leaders off overloaded nodes, by the load that nodes report. Pure.

A node is overloaded at one and a half times the average load, and is relieved until it is close to
the average. In between nothing begins, so that leaders do not move back and forth. The new leader
becomes the preferred one; otherwise the balance of preferred leaders would move it back.
"""

from collections import deque
from collections.abc import Mapping

from msgspec.structs import replace

from duolog.core.controller.census import Census
from duolog.core.controller.changes import Decision, difference
from duolog.core.controller.elections import elected
from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, Group, PartitionId
from duolog.core.controller.moves import is_fit, is_moving
from duolog.model.load import LoadReport, PartitionLoad
from duolog.model.partition_state import PartitionState

BEGIN_SHARE = 1.5
END_SHARE = 1.2
"""Shares of the average load at which relieving a node begins and ends."""

MOVES_PER_MINUTE_MAX = 10
LOAD_LEAST = float(1 << 20)
"""Load in bytes a second below which a node is never overloaded."""
LAG_OVERLOADED_MS = 50.0
"""Event loop lag that shows more work than one core can do: even a small imbalance then counts, see
LAG_BEGIN_SHARE."""

REQUEST_BYTES = 2_048.0
"""Load of a request in bytes, beyond the bytes that it carries."""
LAG_BEGIN_SHARE = 1.1

SETTLING_MS = 10_000
"""Pause after a move until the reported loads reflect it."""

_MINUTE_MS = 60_000


def load_of(report: LoadReport | PartitionLoad) -> float:
    return report.bytes_per_s + report.requests_per_s * REQUEST_BYTES


class LoadBalance:
    """Balances leaders over rounds: remembers the nodes being relieved and the recent moves."""

    def __init__(self) -> None:
        self._relieved: set[int] = set()
        self._moved_ms: deque[int] = deque()

    def moves(self, image: ClusterImage, now_ms: int) -> list[Decision]:
        loads = {
            node: load_of(report)
            for node, report in sorted(image.loads.items())
            if node in image.live
        }
        if len(loads) < 2:
            return []
        while self._moved_ms and not 0 <= now_ms - self._moved_ms[0] < _MINUTE_MS:
            self._moved_ms.popleft()
        if self._moved_ms and now_ms - self._moved_ms[-1] < SETTLING_MS:
            return []
        self._choose(image.loads, loads)
        room = MOVES_PER_MINUTE_MAX - len(self._moved_ms)
        moves = _Moving(image, loads, now_ms).relieve(sorted(self._relieved), room)
        self._moved_ms.extend([now_ms] * len(moves))
        return moves

    def _choose(self, reports: Mapping[int, LoadReport], loads: Mapping[int, float]) -> None:
        average = sum(loads.values()) / len(loads)
        for node, load in loads.items():
            is_late = reports[node].loop_lag_p99_ms >= LAG_OVERLOADED_MS
            begin_share = LAG_BEGIN_SHARE if is_late else BEGIN_SHARE
            if load >= LOAD_LEAST and load > begin_share * average:
                self._relieved.add(node)
            elif load <= min(END_SHARE, begin_share) * average:
                self._relieved.discard(node)
        self._relieved &= loads.keys()


class _Moving:
    """One round of moves; each takes the earlier ones into account."""

    def __init__(self, image: ClusterImage, loads: dict[int, float], now_ms: int) -> None:
        self._census = Census(image)
        self._loads = dict(loads)
        self._now_ms = now_ms
        costs = {
            PartitionId(load.topic_id, load.index): load_of(load)
            for report in image.loads.values()
            for load in report.partitions
        }
        self._led: dict[int, list[tuple[float, Group]]] = {}
        for group in image.groups:
            cost = sum(costs.get(member.id, 0.0) for member in group)
            if cost > 0 and not is_moving(group):
                self._led.setdefault(group[0].state.leader, []).append((cost, group))

    def relieve(self, nodes: list[int], room: int) -> list[Decision]:
        moves: list[Decision] = []
        average = sum(self._loads.values()) / len(self._loads)
        for node in nodes:
            led = sorted(self._led.get(node, ()), key=lambda each: -each[0])
            for cost, group in led:
                if len(moves) == room or self._loads[node] <= END_SHARE * average:
                    break
                target = self._target(node, cost, group)
                if target is not None:
                    self._loads[node] -= cost
                    self._loads[target] += cost
                    moves.append(self._move(group, target, cost))
        return moves

    def _target(self, node: int, cost: float, group: Group) -> int | None:
        """The least loaded in-sync replica, if the move brings the two nodes closer to each
        other."""
        fitting = [
            other
            for other in group[0].state.replicas
            if other != node
            and other in self._loads
            and is_fit(group, other, self._census)
            and self._loads[other] + cost < self._loads[node]
        ]
        return min(fitting, key=lambda other: (self._loads[other], other), default=None)

    def _move(self, group: Group, target: int, cost: float) -> Decision:
        live = self._census.live[target]
        states = [_preferring(member.state, target, live.epoch) for member in group]
        text = (
            f"Node {group[0].state.leader} is overloaded; node {target} leads and is preferred"
            f" now. The partition has a load of {cost / 1024:.0f} KiB/s."
        )
        event = Event(self._now_ms, "leader moved", group[0].text, text)
        return Decision(difference(group, states), (live,), (event,))


def _preferring(state: PartitionState, target: int, epoch: int) -> PartitionState:
    others = tuple(node for node in state.replicas if node != target)
    return elected(replace(state, replicas=(target, *others)), target, epoch)
