"""Mistakes that lose nothing but service: long turns, leases that end, useless leaders."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from duolog.broker.admission import Admission, Budget
from duolog.broker.groups.kept_records import KeptRecords
from duolog.broker.groups.shard import GroupShard
from duolog.broker.queues import serving
from duolog.broker.queues.kept_states import KeptStates
from duolog.broker.queues.recovery import open_state
from duolog.core.controller import upkeep
from duolog.core.controller.isolation import Isolation
from duolog.sim.hand_over import HAND_OVER
from duolog.sim.node import SimNode
from duolog.sim.planted.mistake import Mistake, mistake

_recall = KeptRecords.recall
_shard = GroupShard.__init__
LOST = ("kill", "pause", "power-cut")


class _Restless(Budget):
    """Counts the work, and lets nobody run."""

    async def rest(self, steps: int = 1) -> None:
        self._clock.worked(steps)


class _Relentless(Admission):
    @asynccontextmanager
    async def admitted(self) -> AsyncIterator[Budget]:
        async with self._lock:
            yield _Restless(self._clock)


async def _open_in_one_turn(
    partition: Any, config: Any, admission: Any, flusher: Any, now_ms: int
) -> None:
    await open_state(partition, config, _Relentless(admission._clock), flusher, now_ms)


def _read_in_one_turn(
    self: Any, tenure: Any, clock: Any, store: Any, settings: Any, admission: Any, *rest: Any
) -> None:
    _shard(self, tenure, clock, store, settings, _Relentless(clock), *rest)


async def _recall_nothing(self: Any, stored: Any, run: Any) -> Any:
    self._kept.clear()
    return await _recall(self, stored, run)


def _decide_nothing(self: Any, image: Any, now_ms: int) -> list[Any]:
    return []


MISTAKES: dict[str, Mistake] = {
    "recovery-does-not-yield": mistake(
        "The opening of a queue lets others run.",
        (serving, "open_state", _open_in_one_turn),
        loads=("topics", "queues"),
        faults=LOST,
    ),
    "groups-read-without-yielding": mistake(
        "The reading of groups lets others run.",
        (GroupShard, "__init__", _read_in_one_turn),
        loads=("topics", "groups"),
        faults=LOST,
    ),
    "unreachable-leader-stays": mistake(
        "A leader whose followers cannot reach it is replaced.",
        (Isolation, "decisions", _decide_nothing),
        faults=("cut-between-nodes", "cut-from-nodes"),
    ),
    "full-disk-keeps-leading": mistake(
        "A node whose disk is full gives up what others with room can lead.",
        (upkeep, "full_disk_moves", lambda image, now_ms: []),
        faults=("full-disk",),
    ),
    "opened-state-thrown-away": mistake(
        "What was read of a partition is kept for the next time that it is led.",
        (KeptStates, "keep", lambda self, key, partition: None),
        (KeptRecords, "recall", _recall_nothing),
        loads=("topics", "groups", "queues"),
        faults=("kill", "pause", HAND_OVER),
    ),
    "lease-renewed-on-the-loop": mistake(
        "The lease is renewed where no turn of the loop can delay it.",
        (SimNode, "_guard_lease", lambda self, settings, cleanup: None),
        loads=("topics", "groups", "queues"),
        faults=LOST,
    ),
}
