"""Which partitions this node leads: as the catalog says, unless it must not.

Changes come from the catalog's follower, one at a time; whoever serves what is led, or copies
what is followed, is told at once.
"""

from collections.abc import Iterable
from typing import Protocol

from duolog.broker.cluster_nodes import NO_BROKER_EPOCH
from duolog.broker.partition import Partition
from duolog.model.errors import Refusal
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.observe.logs import get_logger

UNREGISTERED = -1
"""The broker epoch of a node of a cluster that the others do not know yet."""

log = get_logger("roles")


class LeadershipListener(Protocol):
    """Called on the event loop, and must not take long.

    The log may hold records that are not committed yet: whoever needs its content waits
    `until_committed` of its end first.
    """

    def leading(self, partition: Partition) -> None:
        """This node leads from now on, in a new epoch."""
        ...

    def left(self, partition: Partition) -> None:
        """It does not any more, or the partition is gone."""
        ...


class CopyingListener(Protocol):
    """Keeps copies up to date (broker/replication/replicator.py)."""

    def role_changed(self, partition: Partition) -> None:
        """It is led by another node, or by this one, or gone."""
        ...

    def unfit(self, partition: Partition) -> None:
        """This node was elected, and must not lead while others could."""
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
        """In a cluster nothing is led before the others know this run of the node."""
        self._broker_epoch = UNREGISTERED

    def registered(self, broker_epoch: int, partitions: Iterable[Partition]) -> None:
        """What was decided about an earlier registration of this node does not count any more."""
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
        """The partition is gone from this node."""
        if partition.retire():
            self._left(partition)
        for copying in self.copying:
            copying.role_changed(partition)

    def damaged(self, partition: Partition) -> None:
        """Damage was found before the tail: others should lead, and the copy be made again."""
        if partition.entry is not None and partition.is_replicated:
            self.take(partition, partition.entry)

    @property
    def is_suspended(self) -> bool:
        """Whether this node may be taken for dead, so that what it knows may be outdated."""
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
            # It was elected before it registered anew. What an earlier run had not made durable
            # is gone, and others may have copied it: to write other records into the same epoch
            # would hide that the logs differ.
            return False
        if len(state.replicas) == 1:
            return True
        others = {*state.in_sync, *state.eligible} - {self._node}
        if partition.is_incomplete or (partition.log.damaged and others):
            log.error(
                "elected with records missing, and does not lead",
                topic=partition.topic.name,
                partition=partition.index,
                leader_epoch=state.leader_epoch,
            )
            for copying in self.copying:
                copying.unfit(partition)
            return False
        return True
