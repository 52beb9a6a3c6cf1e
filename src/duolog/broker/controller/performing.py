"""Commits decisions, as transactions that succeed only while this node is the controller."""

import asyncio
from collections.abc import Iterable, Sequence

from duolog.broker.catalog_entries import encode_state, partition_key
from duolog.broker.controller.candidacy import Deposed, Term
from duolog.broker.controller.counts import ControllerCounts
from duolog.broker.controller.event_log import EventLog
from duolog.broker.controller.image_view import ImageView
from duolog.broker.membership.entries import (
    CONTROLLER_EPOCH,
    broker_key,
    encode,
    node_key,
)
from duolog.core.controller.changes import Batch, Decision, batches
from duolog.model.cluster import NodeRecord
from duolog.model.partition_state import PartitionEntry
from duolog.ports.metastore import OPERATIONS_MAX, Compare, MetaStore, Put

_AT_ONCE_MAX = 4
"""Maximum number of concurrent transactions: they concern different partitions, and the store
makes them durable with one write."""

_OPERATIONS_MIN = 8
"""Minimum batch size: batches that conflict with others' changes are halved down to it."""


class Performer:
    def __init__(
        self,
        store: MetaStore,
        term: Term,
        view: ImageView,
        events: EventLog,
        counts: ControllerCounts,
    ) -> None:
        self._store = store
        self._term = term
        self._view = view
        self._events = events
        self._operations_max = OPERATIONS_MAX
        self._counts = counts

    async def perform(self, decisions: Iterable[Decision]) -> bool:
        """Commits the decisions. Returns True if all were committed; the rest must be redecided.

        Raises Deposed, or StoreUnavailable, after which the outcome is unknown.
        """
        packed = batches(decisions, self._operations_max)
        is_done = True
        for first in range(0, len(packed), _AT_ONCE_MAX):
            some = packed[first : first + _AT_ONCE_MAX]
            outcomes = await asyncio.gather(*map(self._commit, some), return_exceptions=True)
            for outcome in outcomes:
                if isinstance(outcome, BaseException):
                    raise outcome
                is_done &= outcome
        if is_done:
            self._operations_max = OPERATIONS_MAX
        else:
            await self.check_term()
            self._operations_max = max(_OPERATIONS_MIN, self._operations_max // 2)
        return is_done

    async def admit(self, records: Sequence[NodeRecord], epochs: Sequence[int]) -> bool:
        """Stores the nodes' records: these broker epochs have been handled. True if all were."""
        is_done = True
        for record, epoch in zip(records, epochs, strict=True):
            key = node_key(record.node)
            compares = [
                self._term.compare,
                Compare(broker_key(record.node), epoch),
                Compare(key, self._view.record_revision(record.node)),
            ]
            result = await self._store.transact(compares, [Put(key, encode(record))])
            if result.committed:
                self._view.record_written(record, result.revision)
            is_done &= result.committed
        if not is_done:
            await self.check_term()
        return is_done

    async def check_term(self) -> None:
        """Raises Deposed if another controller was elected."""
        entry = await self._store.get(CONTROLLER_EPOCH)
        if entry is None or entry.mod_revision != self._term.epoch_revision:
            raise Deposed

    async def _commit(self, batch: Batch) -> bool:
        compares = [self._term.compare]
        compares += [Compare(broker_key(node.id), node.epoch) for node in batch.elected]
        puts = []
        for change in batch.changes:
            key = partition_key(change.partition.topic_id, change.partition.index)
            compares.append(Compare(key, change.mod_revision))
            puts.append(Put(key, encode_state(change.state)))
        result = await self._store.transact(compares, puts)
        if not result.committed:
            self._counts.conflicts += 1
            return False
        for change in batch.changes:
            entry = PartitionEntry(change.state, result.revision)
            self._view.state_written(change.partition, entry)
        self._counts.changes += len(batch.changes)
        self._counts.elections += sum(change.is_election for change in batch.changes)
        self._events.add(batch.events)
        return True
