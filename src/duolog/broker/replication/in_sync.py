"""Changes of in-sync sets: proposed by leaders, committed by compare-and-set.

A change compares the partition's state, the controller's epoch, and the broker epoch of each
entering node. Until its outcome is known from the store or the catalog, the high watermark
counts both the old and the new set.
"""

import asyncio
import contextlib

from duolog.broker.controller.event_log import EventLog
from duolog.broker.membership.entries import CONTROLLER_EPOCH
from duolog.broker.partition import Partition
from duolog.broker.replication.proposal import Proposal, changed_in_sync, resignation
from duolog.broker.replication.room import FollowersRoom
from duolog.broker.replication.served_copies import ServedCopies
from duolog.core.controller.events import Event, why_nobody
from duolog.core.replica.companions import Standing, plan_in_sync
from duolog.core.replica.resignation import Unfitness
from duolog.model.partition_state import PartitionState
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock
from duolog.ports.metastore import Compare, MetaStore, StoreUnavailable

TICK_MS_MAX = 1_000
"""Longest interval at which leaders look for lagging followers."""

AT_ONCE_MAX = 16
"""Maximum number of concurrent transactions."""

log = get_logger("in-sync")

GroupKey = tuple[bytes, int]
"""Id of the topic with the messages, and partition index; shared by companions."""


class InSyncSets:
    def __init__(
        self,
        node: int,
        store: MetaStore,
        copies: ServedCopies,
        clock: Clock,
        events: EventLog,
        room: FollowersRoom,
        *,
        lag_ms_max: int,
    ) -> None:
        self._node = node
        self._store = store
        self._events = events
        self._room = room
        self._copies = copies
        self._clock = clock
        self._tick_s = min(TICK_MS_MAX, max(1, lag_ms_max // 4)) / 1000
        self._groups: dict[GroupKey, dict[Partition, None]] = {}
        """Replicated partitions led here, grouped with their companions."""
        self._due: dict[GroupKey, None] = {}
        self._refused: dict[GroupKey, None] = {}
        """Groups whose proposal was refused; not proposed again before the next tick."""
        self._unfit: dict[Partition, Unfitness] = {}
        """Partitions whose lead this node was elected for, and has to resign."""
        self._unsettled: list[Proposal] = []
        """Proposals of unknown outcome."""
        self._stirred = asyncio.Event()
        copies.reconsider = self.reconsider

    def role_changed(self, partition: Partition) -> None:
        key = _group_key(partition)
        group = self._groups.get(key, {})
        if partition.leadership is not None:
            group[partition] = None
            self._groups[key] = group
        else:
            group.pop(partition, None)
            if not group:
                self._groups.pop(key, None)

    def reconsider(self, partition: Partition) -> None:
        """Plans the partition's in-sync set now rather than at the next tick."""
        key = _group_key(partition)
        if key not in self._refused:
            self._due[key] = None
            self._stirred.set()

    def unfit(self, partition: Partition, why: Unfitness) -> None:
        """Resigns the lead of a partition that this node was elected for but refuses to lead."""
        self._unfit[partition] = why
        self._stirred.set()

    async def run(self) -> None:
        """Proposes changes, at ticks and on demand, until cancelled."""
        time = asyncio.get_running_loop().time
        tick_at = time() + self._tick_s
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(tick_at):
                    await self._stirred.wait()
            # The tick comes in time, however often `reconsider` wakes this loop.
            if time() >= tick_at:
                tick_at = time() + self._tick_s
                self._due = dict.fromkeys(self._groups)
                self._refused.clear()
                self._copies.look_for_starts()
                self._room.look()
            self._stirred.clear()
            try:
                await self.settle()
            except StoreUnavailable as error:
                # No set changes meanwhile; acknowledgements that need a change keep waiting.
                log.warning("in-sync sets cannot be changed", error=str(error))
                await asyncio.sleep(self._tick_s)

    async def settle(self) -> None:
        """Proposes due changes, and settles earlier proposals of unknown outcome."""
        due = [proposal for key in self._due if (proposal := self._plan(key)) is not None]
        self._due = {}
        wanted = [*(each for each in self._unsettled if each.is_open), *due]
        unfit = {
            partition: Proposal([change])
            for partition, why in self._unfit.items()
            if (change := resignation(partition, self._node, why)) is not None
        }
        # A refused resignation is repeated at the next tick, on the newer state.
        self._unfit = {partition: self._unfit[partition] for partition in unfit}
        if not wanted and not unfit:
            self._unsettled = []
            return
        # Kept until the outcome is known, whatever the store answers now.
        self._unsettled = wanted
        for proposal in due:
            _announce(proposal)
        entry = await self._store.get(CONTROLLER_EPOCH)
        epoch = Compare(CONTROLLER_EPOCH, 0 if entry is None else entry.mod_revision)
        for first in range(0, len(wanted), AT_ONCE_MAX):
            batch = wanted[first : first + AT_ONCE_MAX]
            await asyncio.gather(*(self._commit(proposal, epoch) for proposal in batch))
        for partition, proposal in unfit.items():
            result = await self._store.transact(proposal.compares(epoch), proposal.operations())
            if result.committed:
                why = self._unfit.pop(partition)
                (change,) = proposal.changes
                self._report_resignation(partition, change.state, why)

    def _plan(self, key: GroupKey) -> Proposal | None:
        members = [
            (partition, leadership)
            for partition in self._groups.get(key, ())
            if (leadership := partition.leadership) is not None
        ]
        if not members or any(leadership.proposed is not None for _, leadership in members):
            return None
        sets = plan_in_sync(
            [
                Standing(leadership, partition.log.end_offset, partition.high_watermark)
                for partition, leadership in members
            ],
            self._clock.monotonic_ms(),
            self._copies.heard_ms,
            self._room.full,
        )
        changes = [
            change
            for (partition, leadership), in_sync in zip(members, sets, strict=True)
            if (change := changed_in_sync(partition, leadership, in_sync)) is not None
        ]
        return Proposal(changes) if changes else None

    def _report_resignation(
        self, partition: Partition, state: PartitionState, why: Unfitness
    ) -> None:
        subject = f"{partition.topic.name}-{partition.index}"
        text = f"Node {self._node} was elected, but {why.value}. {why_nobody(state)}"
        self._events.add([Event(self._clock.now_ms(), "leader resigned", subject, text)])

    async def _commit(self, proposal: Proposal, epoch: Compare) -> None:
        try:
            result = await self._store.transact(proposal.compares(epoch), proposal.operations())
            if not result.committed:
                await self._withdraw_undone(proposal)
        except StoreUnavailable as error:
            log.warning("outcome of an in-sync change unknown", error=str(error))
            return
        # Settled: committed or withdrawn here, or else the catalog brings the true state.
        self._unsettled.remove(proposal)
        for change in proposal.changes if result.committed else ():
            log.info(
                "in-sync set changed",
                topic=change.partition.topic.name,
                partition=change.partition.index,
                in_sync=change.state.in_sync,
                was=change.entry.state.in_sync,
            )

    async def _withdraw_undone(self, proposal: Proposal) -> None:
        """Withdraws the changes whose entry is unchanged: an earlier attempt, whose answer was
        lost, may have committed the others."""
        for change in proposal.changes:
            entry = await self._store.get(change.key)
            is_undone = entry is not None and entry.mod_revision == change.entry.mod_revision
            if is_undone and change.is_open:
                assert change.leadership is not None
                change.leadership.withdraw()
                self._refused[_group_key(change.partition)] = None
                change.partition.recount()


def _announce(proposal: Proposal) -> None:
    for change in proposal.changes:
        assert change.leadership is not None
        change.leadership.propose(change.state.in_sync)


def _group_key(partition: Partition) -> GroupKey:
    topic = partition.topic
    return (topic.beside or topic.id).bytes, partition.index
