"""The groups of one partition of the offsets topic, for one tenure as its leader.

All of a shard's state was read from the partition or written to it. When the tenure ends, the
shard is closed and discarded; the next leader reads the same state.
"""

import asyncio
from collections.abc import Callable, Container, Generator
from typing import TypeVar, assert_never

from duolog.broker.admission import Admission
from duolog.broker.groups.alarm import Alarm
from duolog.broker.groups.deadlines import Deadlines
from duolog.broker.groups.kept_records import KeptRecords
from duolog.broker.groups.offset_store import OffsetStore, Tenure
from duolog.broker.groups.parking import Parking
from duolog.broker.groups.prefix import reading
from duolog.broker.groups.restoring import Restored, restoring
from duolog.broker.groups.writer import GroupWriter
from duolog.core.groups.group import Group
from duolog.core.groups.messages import Answer, Effect, Reply, Ticket, Write
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import Moment
from duolog.model.errors import CoordinatorLoading, NotCoordinator, NotLeader, Refusal
from duolog.model.limits import REBALANCE_AWAITED_MS_MAX
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock

log = get_logger("groups")

RELOAD_S = 0.1
"""Pause before the groups are read again, while it is uncertain that this node leads."""
DEAF_MS = 100
"""Interval at which a shard looks whether its node leads again."""

Result = TypeVar("Result")


class GroupShard:
    def __init__(
        self,
        tenure: Tenure,
        clock: Clock,
        store: OffsetStore,
        settings: GroupSettings,
        admission: Admission,
        kept: KeptRecords,
        on_unknown: Callable[["GroupShard"], None],
    ) -> None:
        self.tenure = tenure
        self.groups: dict[str, Group] = {}
        self.loading: asyncio.Task[None] | None = None
        self.writer = GroupWriter(store, tenure, self, settings.writes_queued_max)
        self._clock = clock
        self._store = store
        self._settings = settings
        self._admission = admission
        self._kept = kept
        self._on_unknown = on_unknown
        self._deadlines = Deadlines()
        self._expiry_due_ms = 0
        self._expiring: asyncio.Task[None] | None = None
        self._is_deaf = False
        """True if members may have spoken in vain, because this node did not lead for a while."""
        self._rebalancing: dict[str, int] = {}
        """Groups that rebalance → monotonic time from which they do."""
        self._alarm = Alarm(clock, self.tick)
        self._parking = Parking()
        self._closed: Refusal | None = CoordinatorLoading("the groups are being read")

    def load(self, topics: Container[str]) -> None:
        """Begins to read the groups; then deletes offsets of topics not in `topics`.

        `topics` is a live view, looked at once everything is read.
        """
        if self.loading is None:
            self.loading = asyncio.get_running_loop().create_task(self._load(topics))
            self.loading.add_done_callback(_report_failure)

    def renew(self, tenure: Tenure) -> None:
        """Goes on in the next epoch, which began without another leader in between."""
        self.tenure = self.writer.tenure = tenure
        self._is_deaf = True

    def close(self, refusal: Refusal) -> None:
        """Refuses all waiting and all future requests."""
        self._closed = refusal
        self._alarm.cancel()
        if self.loading is not None:
            self.loading.cancel()
            self.loading = None
        if self._expiring is not None:
            self._expiring.cancel()
        self._parking.refuse_all(refusal)

    def check_open(self) -> None:
        if self._closed is not None:
            raise self._closed.with_traceback(None)
        if not self._store.leads(self.tenure):
            raise NotCoordinator("this node may no longer be the group's coordinator")

    @property
    def is_open(self) -> bool:
        return self._closed is None

    @property
    def is_rebalancing(self) -> bool:
        """True if a group rebalances, and has not done so for too long to be waited for."""
        if not self.is_open:
            return False
        since_ms = self._clock.monotonic_ms() - REBALANCE_AWAITED_MS_MAX
        return any(began_ms > since_ms for began_ms in self._rebalancing.values())

    def now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.now_ms())

    async def ask(self, group: Group, decide: Callable[[Ticket], list[Effect]]) -> Reply:
        """Sends an event to the group, performs its effects and awaits its answer."""
        with self._parking.ticket() as (ticket, answered):
            try:
                effects = decide(ticket)
            except Refusal:
                self._settle(group)
                raise
            self.perform(group, effects)
            reply = await answered
        if isinstance(reply, Refusal):
            raise reply
        return reply

    def perform(self, group: Group, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Answer():
                    self._parking.answer(effect)
                case Write():
                    self.writer.submit(group.id, effect)
                case _:
                    assert_never(effect)
        self._settle(group)

    def topic_deleted(self, topic: str) -> None:
        for group in list(self.groups.values()) if self.is_open else ():
            self.perform(group, group.topic_deleted(topic))

    def tick(self) -> None:
        """Performs the groups' due deadlines and expiry; called by the alarm."""
        if not self.is_open:
            return
        now = self.now()
        if not self._store.leads(self.tenure):
            # Members cannot be heard, and nothing can be written, until this node leads again.
            self._is_deaf = True
            self._alarm.set(now.monotonic_ms + DEAF_MS)
            return
        if self._is_deaf:
            self._is_deaf = False
            for group in self.groups.values():
                group.heard_of_all(now)
        for group_id in list(self._deadlines.take_due(now.monotonic_ms)):
            group = self.groups[group_id]
            self.perform(group, group.tick(now))
        if now.monotonic_ms >= self._expiry_due_ms:
            self._expire_next(now)
            if self._expiring is None:
                self._expiring = asyncio.get_running_loop().create_task(self._expire())
                self._expiring.add_done_callback(self._expired)
        self._set_alarm()

    async def _expire(self) -> None:
        async with self._admission.admitted() as budget:
            for group in list(self.groups.values()):
                if not self.is_open:
                    return
                if self.groups.get(group.id) is group:
                    self.perform(group, group.expire(self.now()))
                await budget.rest()

    def _expired(self, expiring: asyncio.Task[None]) -> None:
        self._expiring = None
        if not expiring.cancelled() and (error := expiring.exception()) is not None:
            log.error("offsets not expired", partition=self.tenure.partition, error=str(error))

    def written(self, group_id: str, write: Write) -> None:
        if self.is_open:
            group = self.groups[group_id]
            self.perform(group, group.written(write, self.now()))

    def write_failed(self, group_id: str, write: Write) -> None:
        if self.is_open:
            group = self.groups[group_id]
            self.perform(group, group.write_failed(write, self.now()))

    def writes_unknown(self) -> None:
        self._on_unknown(self)

    async def _load(self, topics: Container[str]) -> None:
        found: Restored | None = None
        while found is None:
            tenure = self.tenure
            try:
                found = await self._read()
            except Refusal:
                # Leadership is uncertain for the moment; once it has ended, `close` cancels this.
                if tenure is self.tenure:
                    await asyncio.sleep(RELOAD_S)
        # No await from here on, so that the state that was read is the state that is served.
        self.groups, self._deadlines = found.groups, found.deadlines
        self._closed = self.loading = None
        self._expire_next(self.now())
        for topic in sorted(found.committed.keys()):
            if topic not in topics:
                for group in found.committed[topic]:
                    self.perform(group, group.topic_deleted(topic))
        self._set_alarm()
        if self.groups:
            log.info("groups read", partition=self.tenure.partition, groups=len(self.groups))

    async def _read(self) -> Restored:
        """Reads the groups as compaction would leave them: the newest record of each key.

        Goes on from what this node has read before, whoever led meanwhile. Decoding only the
        newest makes a partition with many commits of few groups cheap to read.
        """
        end_offset = await self._store.until_readable(self.tenure)
        stored = self._store.stored(self.tenure.partition)
        newest = await self._kept.recall(stored, self.read_resting)
        records = await self.read_resting(reading(newest, stored, end_offset))
        self._kept.release(stored)
        restored = await self.read_resting(
            restoring(records, self._settings, self.tenure.partition, self.now)
        )
        if not self._store.leads(self.tenure):
            raise NotLeader("the group's partition is led elsewhere")
        return restored

    async def read_resting(self, steps: Generator[None, None, Result]) -> Result:
        """Runs all steps of reading groups: once admitted, and resting between them."""
        async with self._admission.admitted() as budget:
            return await budget.run(steps)

    def _settle(self, group: Group) -> None:
        """Drops an empty group, or updates its deadline; called after each event."""
        if not self.is_open:
            return
        if group.is_rebalancing:
            self._rebalancing.setdefault(group.id, self._clock.monotonic_ms())
        else:
            self._rebalancing.pop(group.id, None)
        if group.is_forgettable:
            del self.groups[group.id]
            self._deadlines.clear(group.id)
            return
        deadline_ms = group.next_deadline_ms()
        if deadline_ms is not None:
            self._deadlines.set(group.id, deadline_ms)
        self._set_alarm()

    def _set_alarm(self) -> None:
        if self.is_open and self.groups:
            first_ms = self._deadlines.first_ms()
            self._alarm.set(
                self._expiry_due_ms if first_ms is None else min(first_ms, self._expiry_due_ms)
            )

    def _expire_next(self, now: Moment) -> None:
        interval_ms = self._settings.offsets_retention_check_interval_ms
        self._expiry_due_ms = now.monotonic_ms + interval_ms


def _report_failure(loading: asyncio.Task[None]) -> None:
    """Logs why loading failed, since the shard then refuses all requests."""
    if not loading.cancelled() and (error := loading.exception()) is not None:
        log.error("groups not read", error=str(error))
