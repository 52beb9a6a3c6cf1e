"""A partition's role, and how far what this node leads is committed.

Partition derives from it. A role comes from the catalog (broker/broker.py); what the other
replicas have is reported by their fetches (broker/replication/served_copies.py).
"""

import asyncio

from duolog.broker.flusher import Flusher
from duolog.broker.following import FollowingReplica
from duolog.broker.replica import Parts
from duolog.broker.waiting import FutureWaiter, Waiter
from duolog.core.replica.leadership import Leadership
from duolog.model.errors import LeadershipLost, NotLeader, Refusal
from duolog.model.partition_state import NO_LEADER, PartitionEntry


class CopiedWrites:
    """Told of each write in place of the flusher, where the write is not all that counts."""

    def request(self, partition: "LeadingReplica") -> None:
        partition.written()


_COPIED_WRITES = CopiedWrites()


class LeadingReplica(FollowingReplica):
    """Leads, as the only replica, until it is told otherwise."""

    __slots__ = (
        "_defers",
        "_epoch_start_offset",
        "_fenced",
        "_not_leading",
        "_suspended",
        "_writes",
        "entry",
        "in_sync_count",
        "is_leader",
        "leadership",
    )

    def __init__(self, parts: Parts) -> None:
        super().__init__(parts)
        self.entry: PartitionEntry | None = None
        """The state that the present role comes from."""
        self.is_leader = True
        """Whether requests to the leader are answered here: not while suspended."""
        self.in_sync_count = 1
        self.leadership: Leadership | None = None
        """None unless this node leads and there are other replicas."""
        self._epoch_start_offset = parts.log.end_offset
        self._fenced: Refusal | None = None
        self._suspended: Refusal | None = None
        self._not_leading: Refusal | None = None
        self._writes: Flusher | CopiedWrites = parts.flusher
        self._defers = True
        """Whether somebody is to be told of each write before it can be committed."""

    def lead(self, entry: PartitionEntry, node: int, *, lag_ms_max: int) -> bool:
        """Lead as the entry says; whether that is a new epoch."""
        state = entry.state
        is_new = self.entry is None or state.leader_epoch > self.leader_epoch or not self.leads
        is_known = self.entry is not None and self.entry.mod_revision >= entry.mod_revision
        self.entry = entry
        if is_new:
            self.leader_epoch = state.leader_epoch
            self.log.assign_epoch(state.leader_epoch)
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
            # What is known already settles nothing that was proposed upon it.
            self.leadership.committed(state, now_ms)
        self.in_sync_count = len(state.in_sync)
        self._settle_writes()
        self.recount()
        return is_new

    def follow(self, entry: PartitionEntry) -> bool:
        """Follow whoever leads, if anybody; whether this node led until now."""
        led = self.leads and self.entry is not None
        state = entry.state
        if self.leads:
            self.log.forget_idle_epoch()
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
        """Have no role any more; whether this node led until now."""
        led = self.leads and self.entry is not None
        self._not_leading = NotLeader(f"topic '{self.topic.name}' is not here any more")
        self.leadership = None
        self._settle_refusal()
        return led

    def suspend(self, refusal: Refusal) -> None:
        """Answer nobody for the leader: the others may have elected another one by now."""
        self._suspended = refusal
        self._settle_refusal()
        self._wake_all()

    def resume(self) -> None:
        self._suspended = None
        self._settle_refusal()

    @property
    def leads(self) -> bool:
        """Whether it is this node's epoch, though it may be suspended."""
        return self._not_leading is None

    @property
    def is_current(self) -> bool:
        """Whether all that earlier leaders may have committed is known to be committed."""
        return self.high_watermark >= self._epoch_start_offset

    @property
    def in_sync(self) -> tuple[int, ...]:
        return () if self.entry is None else self.entry.state.in_sync

    @property
    def is_replicated(self) -> bool:
        """Whether other nodes hold copies, too."""
        return self.entry is not None and len(self.entry.state.replicas) > 1

    @property
    def leader(self) -> int:
        """The node that leads, as this one knows; NO_LEADER while nobody does."""
        return NO_LEADER if self.entry is None else self.entry.state.leader

    @property
    def is_fenced(self) -> bool:
        """Whether its disk has failed, or it is gone."""
        return self._fenced is not None

    @property
    def is_following(self) -> bool:
        """Whether another node leads and can be copied from."""
        return self._not_leading is not None and self._fenced is None and self.leader >= 0

    def _settle_refusal(self) -> None:
        self._failure = self._fenced or self._not_leading or self._suspended
        self._retry_ms = None
        self.is_leader = self._not_leading is None and self._suspended is None

    def _settle_writes(self) -> None:
        is_copied = self.leadership is not None
        self._writes = _COPIED_WRITES if is_copied else self._flusher
        self._defers = is_copied or self._fsync

    def written(self) -> None:
        """More is in the log: others can copy it, and it may become committed."""
        if self._copying:
            for copying in tuple(self._copying):
                copying.end_advanced(self)
        if self._fsync:
            self._flusher.request(self)
        else:
            self.recount()

    def recount(self) -> None:
        """Move the high watermark to where the replicas, as far as is known, have come."""
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
        """Tell the waiter once this copy alone is as durable as the topic asks."""
        if self.copied_offset >= end_offset:
            waiter.settle(None)
        else:
            self._waiting_durable.append((end_offset, waiter))

    def make_durable(self, end_offset: int, waiter: Waiter) -> None:
        """As `wait_durable`, whoever has written it."""
        self._flusher.request(self)
        self.wait_durable(end_offset, waiter)

    async def until_committed(self, end_offset: int) -> None:
        """NotLeader when leadership goes before the high watermark has reached the offset."""
        if self.high_watermark < end_offset:
            committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.wait_committed(end_offset, FutureWaiter(committed))
            await committed

    def check_leading(self) -> None:
        """Refuse what only the leader may answer."""
        refusal = self._not_leading or self._suspended
        if refusal is not None:
            raise refusal.with_traceback(None)

    def fence(self, failure: Refusal, waiting: Refusal | None = None) -> None:
        """Take no more writes. Who waits is told `waiting`, or else the failure."""
        self._fenced = failure
        self._settle_refusal()
        self._refuse_all_waiting(waiting or failure)
        self._wake_all()


def _gone(partition: LeadingReplica) -> LeadershipLost:
    return LeadershipLost(
        f"another node leads partition {partition.index} of topic '{partition.topic.name}' now;"
        " whether the records are stored is not known"
    )
