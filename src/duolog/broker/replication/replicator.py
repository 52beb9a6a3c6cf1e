"""Replication of a node: copies followed partitions; serves led ones and tracks in-sync sets."""

import asyncio
from collections.abc import Coroutine

from duolog.broker.broker import Broker
from duolog.broker.controller.event_log import EventLog
from duolog.broker.membership.own_condition import OwnCondition
from duolog.broker.partition import Partition
from duolog.broker.replication.copier import Copier, CopyTerms
from duolog.broker.replication.in_sync import InSyncSets
from duolog.broker.replication.pace import Pace
from duolog.broker.replication.room import FollowersRoom
from duolog.broker.replication.served_copies import ServedCopies
from duolog.core.replica.resignation import Unfitness
from duolog.ports.metastore import MetaStore
from duolog.ports.peers import Peers


class Replicator:
    """Owns the copiers and in-sync sets. Created before the broker starts, to hear all roles."""

    def __init__(
        self, broker: Broker, peers: Peers, store: MetaStore, condition: OwnCondition
    ) -> None:
        settings = broker.settings
        self._condition = condition
        self._node = broker.node_id
        self._clock = broker.clock
        self._peers = peers
        self._terms = CopyTerms(
            settings.integer("replica.fetch.wait.max.ms"),
            settings.integer("replica.fetch.response.max.bytes"),
        )
        self._pace = Pace(settings.integer("replica.reassignment.bytes.per.second"))
        self.room = FollowersRoom(broker.node_id)
        self.copies = ServedCopies(broker, self.room)
        self._events = EventLog(store, broker.node_id)
        self.in_sync = InSyncSets(
            broker.node_id,
            store,
            self.copies,
            broker.clock,
            self._events,
            self.room,
            lag_ms_max=settings.integer("replica.lag.time.max.ms"),
        )
        self._copiers: dict[int, Copier] = {}
        """Copiers by leader node."""
        self._followed: dict[Partition, int] = {}
        """Followed partitions → the node that each is copied from."""
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        broker.roles.copying.append(self)
        condition.listeners.append(self._tell_leaders)

    def start(self) -> asyncio.Task[None]:
        """Starts; returns a task that ends by `stop`, or with the failure of any part."""
        self._run(self.in_sync.run())
        return self._run(self._until_failure())

    async def _until_failure(self) -> None:
        await self._failure

    async def stop(self) -> None:
        self.copies.close()
        self._events.stop()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def role_changed(self, partition: Partition) -> None:
        self.in_sync.role_changed(partition)
        self.room.role_changed(partition)
        leader = partition.leader if partition.is_following else self._node
        previous = self._followed.get(partition)
        if previous is not None and previous != leader:
            self._copiers[previous].forget(partition)
            del self._followed[partition]
        if leader != self._node:
            self._followed[partition] = leader
            self._copier(leader).follow(partition)

    def unfit(self, partition: Partition, why: Unfitness) -> None:
        self.in_sync.unfit(partition, why)

    def _tell_leaders(self) -> None:
        """Tells the leaders followed from here whether this node's disk is full."""
        for copier in self._copiers.values():
            copier.ask_now()

    def _copier(self, leader: int) -> Copier:
        copier = self._copiers.get(leader)
        if copier is None:
            copier = Copier(
                self._node,
                leader,
                self._peers,
                self._terms,
                self._pace,
                self._condition,
                self._clock,
            )
            self._copiers[leader] = copier
            self._run(self._copy(leader, copier))
        return copier

    async def _copy(self, leader: int, copier: Copier) -> None:
        # Lets the caller add the first partition, right after it has created this task.
        await asyncio.sleep(0)
        await copier.run()
        if self._copiers.get(leader) is copier:
            del self._copiers[leader]

    def _run(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks[task] = None
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None and not self._failure.done():
            self._failure.set_exception(error)
