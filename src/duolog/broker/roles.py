"""Roles of this node's partitions: leader or follower by the catalog, unless it must not lead.

Changes come from the catalog's follower, one at a time; the listeners that serve led partitions,
or copy followed ones, are called at once.
"""

from collections.abc import Iterable
from typing import Protocol

from duolog.broker.cluster_nodes import NO_BROKER_EPOCH
from duolog.broker.partition import Partition
from duolog.core.replica.resignation import Unfitness, unfitness
from duolog.model.errors import Refusal
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.observe.logs import get_logger

UNREGISTERED = -1
"""Broker epoch of a cluster node that has not registered yet."""

log = get_logger("roles")


class LeadershipListener(Protocol):
    """Listener to leadership changes. Called on the event loop, so it must be fast.

    The log may hold uncommitted records: a listener that needs its content first waits
    `until_committed` for its end.
    """

    def leading(self, partition: Partition) -> None:
        """Called when this node begins to lead in a new epoch."""
        ...

    def left(self, partition: Partition) -> None:
        """Called when this node stops leading, or the partition is dropped."""
        ...


class CopyingListener(Protocol):
    """Listener that keeps copies up to date (broker/replication/replicator.py)."""

    def role_changed(self, partition: Partition) -> None:
        """Called when the partition's leader may have changed, or the partition is dropped."""
        ...

    def unfit(self, partition: Partition, why: Unfitness) -> None:
        """Called when this node was elected, but refuses to lead: it resigns."""
        ...


class Roles:
    def __init__(self, node: int, *, lag_ms_max: int) -> None:
        self._node = node
        self._lag_ms_max = lag_ms_max
        self.leadership: list[LeadershipListener] = []
        self.copying: list[CopyingListener] = []
        self._suspended: Refusal | None = None
        self._broker_epoch = NO_BROKER_EPOCH

    def await_registration(self) -> None:
        """Leads nothing until `registered`: the cluster must know this run of the node first."""
        self._broker_epoch = UNREGISTERED

    def registered(self, broker_epoch: int, partitions: Iterable[Partition]) -> None:
        """Takes a new broker epoch; elections under earlier registrations no longer count."""
        self._broker_epoch = broker_epoch
        for partition in partitions:
            if partition.entry is not None:
                self.take(partition, partition.entry)

    def take(self, partition: Partition, entry: PartitionEntry) -> None:
        if self._suspended is not None:
            partition.suspend(self._suspended)
        state = entry.state
        if state.leader == self._node and self._may_lead(partition, state):
            if partition.lead(entry, self._node, lag_ms_max=self._lag_ms_max):
                for listener in self.leadership:
                    listener.leading(partition)
        elif partition.follow(entry):
            self._left(partition)
        for copying in self.copying:
            copying.role_changed(partition)

    def give_up(self, partition: Partition) -> None:
        """Ends the role of a partition that this node drops."""
        if partition.retire():
            self._left(partition)
        for copying in self.copying:
            copying.role_changed(partition)

    def damaged(self, partition: Partition) -> None:
        """Reconsiders the role after damage was found before the tail: others should lead."""
        if partition.entry is not None and partition.is_replicated:
            self.take(partition, partition.entry)

    @property
    def is_suspended(self) -> bool:
        """True if the cluster may take this node for dead, so that its catalog may be stale."""
        return self._suspended is not None

    def suspend(self, refusal: Refusal, partitions: Iterable[Partition]) -> None:
        self._suspended = refusal
        for partition in partitions:
            partition.suspend(refusal)

    def resume(self, partitions: Iterable[Partition]) -> None:
        self._suspended = None
        for partition in partitions:
            partition.resume()

    def _left(self, partition: Partition) -> None:
        for listener in self.leadership:
            listener.left(partition)

    def _may_lead(self, partition: Partition, state: PartitionState) -> bool:
        if state.broker_epoch != self._broker_epoch:
            # Elected under an earlier registration. Records that the earlier run had not made
            # durable are gone here, but others may have copied them: writing other records in
            # the same epoch would hide that the logs differ.
            return False
        if self._broker_epoch == NO_BROKER_EPOCH:
            # A lone node goes on in the epoch in which it has always led.
            return True
        why = unfitness(partition.copy_on(self._node), state)
        if why is None:
            return True
        log.error(
            "elected, but refuses to lead",
            topic=partition.topic.name,
            partition=partition.index,
            leader_epoch=state.leader_epoch,
            reason=why.value,
        )
        for copying in self.copying:
            copying.unfit(partition, why)
        return False
