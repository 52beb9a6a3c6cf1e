"""The leader's side of a partition: its role, and the advance of the high watermark.

Partition derives from it. The role comes from the catalog (broker/broker.py); followers report
their progress by their fetches (broker/replication/served_copies.py).
"""

import asyncio

from duolog.broker.flusher import Flusher
from duolog.broker.following import FollowingReplica
from duolog.broker.replica import Parts
from duolog.broker.waiting import FutureWaiter, Waiter
from duolog.core.replica.leadership import Leadership
from duolog.core.replica.resignation import Copy
from duolog.model.errors import LeadershipLost, NotLeader, Refusal
from duolog.model.partition_state import NO_EPOCH, NO_LEADER, PartitionEntry


class CopiedWrites:
    """Takes the flusher's place in a replicated partition: followers are woken, too."""

    def request(self, partition: "LeadingReplica") -> None:
        partition.written()


_COPIED_WRITES = CopiedWrites()


class LeadingReplica(FollowingReplica):
    """A replica with a role; until the catalog says otherwise, the leader and only replica."""

    __slots__ = (
        "_defers",
        "_epoch_start_offset",
        "_fenced",
        "_led_epoch",
        "_no_room",
        "_not_leading",
        "_suspended",
        "_withheld",
        "_writes",
        "entry",
        "in_sync_count",
        "is_leader",
        "leadership",
    )

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.entry: PartitionEntry | None = None
        """Catalog entry from which the current role was taken."""
        self.is_leader = True
        """True if this node answers as the leader: False while it is suspended."""
        self.in_sync_count = 1
        self.leadership: Leadership | None = None
        """None unless this node leads and there are other replicas."""
        self._epoch_start_offset = parts.log.end_offset
        self._led_epoch = NO_EPOCH
        """Last epoch that began here, in this run of the node."""
        self._fenced: Refusal | None = None
        self._suspended: Refusal | None = None
        self._withheld: Refusal | None = None
        self._not_leading: Refusal | None = None
        self._no_room: Refusal | None = None
        self._writes: Flusher | CopiedWrites = parts.flusher
        self._defers = True
        """True if a write is not committed at once: it waits for a sync, or for followers."""

    def lead(self, entry: PartitionEntry, node: int, *, lag_ms_max: int) -> bool:
        """Becomes or stays leader, as the entry says. Returns True if this begins a new epoch.

        Whether this copy may lead is decided before (core/replica/resignation.py).
        """
        state = entry.state
        is_new = self.entry is None or state.leader_epoch > self.leader_epoch or not self.leads
        is_known = self.entry is not None and self.entry.mod_revision >= entry.mod_revision
        self.entry = entry
        if is_new:
            self.leader_epoch = self._led_epoch = state.leader_epoch
            # False only if the epoch goes on: on a lone node, or after a step back of this run.
            self.log.assign_epoch(state.leader_epoch)
            self._save_epochs()
            # What the leader has is what there is.
            self.is_incomplete = False
            self._epoch_start_offset = self.log.end_offset
            self._not_leading = self.leadership = None
            self._settle_refusal()
        now_ms = self._clock.monotonic_ms()
        if len(state.replicas) == 1:
            self.leadership = None
        elif self.leadership is None:
            self.leadership = Leadership(
                node,
                state,
                end_offset=self._epoch_start_offset,
                min_in_sync=self.topic.config.min_insync_replicas,
                lag_ms_max=lag_ms_max,
                now_ms=now_ms,
            )
        elif not is_known:
            # Not for an entry known already: it does not settle a proposal made upon it.
            self.leadership.committed(state, now_ms)
        self.in_sync_count = len(state.in_sync)
        self._settle_writes()
        self.recount()
        return is_new

    def follow(self, entry: PartitionEntry) -> bool:
        """Becomes or stays follower, as the entry says. Returns True if this node led before."""
        led = self.leads and self.entry is not None
        state = entry.state
        if self.leads:
            self.log.forget_idle_epoch()
            self._save_epochs()
            self._refuse_all_waiting(_gone(self))
        self.entry = entry
        self.leader_epoch = state.leader_epoch
        self.leadership = None
        self.in_sync_count = len(state.in_sync)
        self._not_leading = NotLeader(
            f"partition {self.index} of topic '{self.topic.name}' is led by node {state.leader}"
        )
        self._settle_refusal()
        self._wake_all()
        return led

    def retire(self) -> bool:
        """Gives up any role, as the copy is dropped. Returns True if this node led before."""
        led = self.leads and self.entry is not None
        self._not_leading = NotLeader(f"this node no longer holds topic '{self.topic.name}'")
        self.leadership = None
        self._settle_refusal()
        return led

    def suspend(self, refusal: Refusal) -> None:
        """Stops answering as leader: the cluster may have elected another one by now."""
        self._suspended = refusal
        self._settle_refusal()
        self._wake_all()

    def resume(self) -> None:
        self._suspended = None
        self._settle_refusal()

    def withhold(self, refusal: Refusal | None) -> None:
        """Refuses new records with this refusal; None: takes them again. Reading goes on, and so
        do copies elsewhere."""
        self._withheld = refusal
        self._settle_refusal()

    def copy_on(self, node: int) -> Copy:
        """What decides whether this node's copy may lead."""
        return Copy(
            node,
            self.log.epochs.latest,
            self._led_epoch,
            self.is_incomplete,
            bool(self.log.damaged),
        )

    def refuse_messages(self, refusal: Refusal | None) -> None:
        """Refuses new records, because disks of the in-sync set are full; None: takes them."""
        if refusal is not self._no_room:
            self._no_room = refusal
            self._settle_refusal()

    @property
    def leads(self) -> bool:
        """True if this node leads the current epoch, even while suspended."""
        return self._not_leading is None

    @property
    def is_current(self) -> bool:
        """True if the high watermark has reached the epoch's start: everything that earlier
        leaders may have committed is committed."""
        return self.high_watermark >= self._epoch_start_offset

    @property
    def in_sync(self) -> tuple[int, ...]:
        return () if self.entry is None else self.entry.state.in_sync

    @property
    def is_replicated(self) -> bool:
        """True if other nodes hold copies, too."""
        return self.entry is not None and len(self.entry.state.replicas) > 1

    @property
    def leader(self) -> int:
        """Node id of the leader, as this node knows it; NO_LEADER while there is none."""
        return NO_LEADER if self.entry is None else self.entry.state.leader

    @property
    def is_fenced(self) -> bool:
        """True if the disk has failed, or the partition was dropped."""
        return self._fenced is not None

    @property
    def is_following(self) -> bool:
        """True if another node leads, so that this one copies from it."""
        return self._not_leading is not None and self._fenced is None and self.leader >= 0

    def _settle_refusal(self) -> None:
        self._failure = (
            self._fenced or self._not_leading or self._suspended or self._withheld or self._no_room
        )
        self._retry_ms = None
        self.is_leader = self._not_leading is None and self._suspended is None

    def _settle_writes(self) -> None:
        is_copied = self.leadership is not None
        self._writes = _COPIED_WRITES if is_copied else self._flusher
        self._defers = is_copied or self._fsync

    def written(self) -> None:
        """Wakes the followers and requests a sync, or recounts, after an append."""
        if self._copying:
            for copying in tuple(self._copying):
                copying.end_advanced(self)
        if self._fsync:
            self._flusher.request(self)
        else:
            self.recount()

    def recount(self) -> None:
        """Advances the high watermark by the known positions of the replicas."""
        if not self.leads:
            return
        own_end_offset = self.copied_offset
        if self.leadership is None:
            self._advance(own_end_offset)
            return
        committed = self.leadership.high_watermark(own_end_offset)
        if committed is not None:
            self._advance(committed)

    def synced(self, end_offset: int) -> None:
        if self.leadership is None and self._not_leading is None:
            self._advance(end_offset)
        else:
            self.recount()
        if self._waiting_durable:
            self._settle_durable()

    def wait_durable(self, end_offset: int, waiter: Waiter) -> None:
        """Settles the waiter once this copy alone is as durable as the topic asks."""
        if self.copied_offset >= end_offset:
            waiter.settle(None)
        else:
            self._waiting_durable.append((end_offset, waiter))

    def make_durable(self, end_offset: int, waiter: Waiter) -> None:
        """Requests a sync, then waits like `wait_durable`; for records that were copied here."""
        self._flusher.request(self)
        self.wait_durable(end_offset, waiter)

    async def until_committed(self, end_offset: int) -> None:
        """Waits for the high watermark to reach the offset; raises if leadership is lost first."""
        if self.high_watermark < end_offset:
            committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.wait_committed(end_offset, FutureWaiter(committed))
            await committed

    def check_leading(self) -> None:
        """Raises NotLeader, or the suspension's refusal, unless this node answers as leader."""
        refusal = self._not_leading or self._suspended
        if refusal is not None:
            raise refusal.with_traceback(None)

    def fence(self, failure: Refusal, waiting: Refusal | None = None) -> None:
        """Refuses all further writes with `failure`; waiters get `waiting`, or else `failure`."""
        self._fenced = failure
        self._settle_refusal()
        self._refuse_all_waiting(waiting or failure)
        self._wake_all()


def _gone(partition: LeadingReplica) -> LeadershipLost:
    return LeadershipLost(
        f"another node leads partition {partition.index} of topic '{partition.topic.name}' now;"
        " whether the records are stored is not known"
    )
