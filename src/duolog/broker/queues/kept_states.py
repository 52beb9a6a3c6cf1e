"""States of partitions that this node has opened, kept while other nodes lead them.

Leadership can alternate between two nodes, and may end before a partition is opened. What was read
stays true as long as both logs still have the last record read at its offset, under its leader
epoch: whoever led meanwhile, everything before it is the same. So an opening goes on from there.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from duolog.broker.partition import Partition
from duolog.broker.queues.progress import Progress, Tail
from duolog.broker.queues.queue_partition import QueuePartition
from duolog.broker.queues.snapshots import newest_offset
from duolog.core.queues.deduplication import Deduplication
from duolog.core.queues.delivery import Delivery
from duolog.ports.clock import Clock

KEPT_ITEMS_MAX = 500_000
"""Messages and deduplication keys of all kept states, about 100 MB; the oldest states go first."""
KEPT_MS_MAX = 600_000
"""Time after which a state is dropped: by then the logs have mostly newer things."""
LOOK_SECONDS = 30.0
"""Interval at which states are looked through for such."""

Key = tuple[bytes, int]
"""Id of a queue, and index of a partition."""


class Place(NamedTuple):
    """The end of what was read of a log, and the leader epoch of the record before it."""

    replica: Partition
    offset: int
    epoch: int

    @classmethod
    def at(cls, replica: Partition, offset: int) -> "Place":
        return cls(replica, offset, replica.log.epoch_at(offset - 1))

    def is_still_in(self, replica: Partition) -> bool:
        kept = replica.log
        return (
            replica is self.replica
            and kept.start_offset <= self.offset <= kept.end_offset
            and kept.epoch_at(self.offset - 1) == self.epoch
        )


class KeptState(NamedTuple):
    data: Place
    journal: Place | None
    delivery: Delivery
    deduplication: Deduplication
    progress: Progress
    tail: Tail
    kept_ms: int

    @property
    def items(self) -> int:
        """Number of things that are held one by one."""
        delivery = self.delivery
        waiting = delivery.undone_count if delivery.has_groups else delivery.held_count
        return waiting + len(self.deduplication)


class KeptStates:
    def __init__(self, clock: Clock, is_held: Callable[[Partition], bool]) -> None:
        """Prepares to keep states; `is_held` tells whether this node still has a copy."""
        self._clock = clock
        self._is_held = is_held
        self._states: dict[Key, KeptState] = {}
        """By age, oldest first."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False

    def __len__(self) -> int:
        return len(self._states)

    def stop(self) -> None:
        self._is_stopped = True
        self._disarm()

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def keep(self, key: Key, partition: QueuePartition) -> None:
        """Keeps what was read of a partition that is not served any more, or not yet."""
        self._states.pop(key, None)
        state = _state_of(partition, self._clock.monotonic_ms())
        if state is not None:
            self._states[key] = state
        self._drop_some()

    def take(self, key: Key, partition: QueuePartition) -> None:
        """Lets an opening go on from what was kept of the partition, if the logs still have it."""
        state = self._states.pop(key, None)
        if state is None or not _is_still_true(state, partition):
            return
        partition.delivery, partition.deduplication = state.delivery, state.deduplication
        partition.progress = state.progress
        journal = partition.journal
        if journal is not None:
            journal.snapshot_offset = newest_offset(journal)
            if journal.snapshot_offset < state.progress.journal_offset:
                # Otherwise another leader has written a snapshot since, which has all of this.
                partition.tail = state.tail

    def forget(self, queue_id: bytes) -> None:
        """Drops all states of a deleted queue."""
        for key in [each for each in self._states if each[0] == queue_id]:
            del self._states[key]

    def _drop_some(self) -> None:
        """Drops what is too old or too much, or of copies that this node holds no more."""
        oldest_ms = self._clock.monotonic_ms() - KEPT_MS_MAX
        items = sum(state.items for state in self._states.values())
        for key, state in list(self._states.items()):
            is_held = all(
                place is None or self._is_held(place.replica)
                for place in (state.data, state.journal)
            )
            if items > KEPT_ITEMS_MAX or state.kept_ms <= oldest_ms or not is_held:
                items -= state.items
                del self._states[key]
        self._disarm()
        if self._states and not self._is_stopped:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(LOOK_SECONDS, self._drop_some)


def _state_of(partition: QueuePartition, now_ms: int) -> KeptState | None:
    """What was read of the partition; None if it is nothing, or has what was never written."""
    progress, journal, data = partition.progress, partition.journal, partition.data
    if not progress.is_loaded or data.is_fenced:
        return None
    # Messages that are not committed yet may be replaced by others.
    partition.deduplication.forget_from(partition.delivery.end_offset)
    place = None
    if journal is not None:
        if not journal.is_settled:
            return None
        place = Place.at(journal.partition, progress.journal_offset)
    return KeptState(
        Place.at(data, partition.delivery.end_offset),
        place,
        partition.delivery,
        partition.deduplication,
        progress,
        partition.tail,
        now_ms,
    )


def _is_still_true(state: KeptState, partition: QueuePartition) -> bool:
    journal = partition.journal
    if not state.data.is_still_in(partition.data):
        return False
    if state.journal is None:
        return journal is None or not journal.partition.log.end_offset
    return journal is not None and state.journal.is_still_in(journal.partition)
