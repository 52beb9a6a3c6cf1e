"""Mistakes of queues: settlement by stale receipts, early answers, duplicates, unlocked groups."""

from typing import Any

from duolog.broker.queues import settling
from duolog.broker.queues.commits import Commits
from duolog.core.queues.deduplication import Deduplication
from duolog.core.queues.fifo import FifoGroups
from duolog.sim.planted.mistake import Mistake, mistake

_deliver = FifoGroups.deliver


def _deliver_unlocked(self: Any, offset: int, now_ms: int) -> bytes | None:
    group = _deliver(self, offset, now_ms)
    lane = self._lanes[group]
    lane.in_flight = 0
    if len(lane):
        self._offer(lane)
    return group


_FAULTS = ("power-cut", "reset", "cut-one-way", "slow-disk")

MISTAKES: dict[str, Mistake] = {
    "apply-stale-receipt": mistake(
        "A receipt settles the delivery that it is for, and no later one.",
        (settling, "_is_latest", lambda held, receipt: True),
        loads=("queues",),
        faults=_FAULTS,
    ),
    "answer-before-journal": mistake(
        "A deletion is acknowledged only once it is in the journal.",
        (Commits, "add_changes", lambda self, partition: None),
        loads=("queues",),
        faults=_FAULTS,
    ),
    "forget-deduplication": mistake(
        "A message that is sent again is recognised by its deduplication id.",
        (Deduplication, "find", lambda self, key, now_ms: None),
        loads=("queues",),
        faults=_FAULTS,
    ),
    "unlocked-groups": mistake(
        "A message group has at most one delivery in flight.",
        (FifoGroups, "deliver", _deliver_unlocked),
        loads=("queues",),
        faults=_FAULTS,
    ),
}
