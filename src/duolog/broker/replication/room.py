"""Followers whose disks are full, as their fetches say, and what leaders refuse because of them."""

from collections.abc import Collection

from duolog.broker.partition import Partition
from duolog.core.replica.room import takes_messages
from duolog.model.errors import DiskFull, Refusal
from duolog.model.names import uses_reserve
from duolog.observe.logs import get_logger

log = get_logger("replication")


class FollowersRoom:
    """Decides for each partition led here whether it takes new messages.

    Partitions that are written on a full disk, too, are left out: keeping them writable is what the
    refusals are for. Whether this node's own disk is full is not looked at here.
    """

    def __init__(self, node: int) -> None:
        self._node = node
        self._full: dict[int, None] = {}
        self._led: dict[Partition, None] = {}

    @property
    def full(self) -> Collection[int]:
        """Nodes whose last fetch said that their disks have no room for new records."""
        return self._full.keys()

    def heard(self, node: int, *, is_full: bool) -> None:
        """Takes what a fetch of the node says."""
        if is_full == (node in self._full):
            return
        if is_full:
            self._full[node] = None
        else:
            del self._full[node]
        log.info("follower's disk", node=node, is_full=is_full)
        for partition in self._led:
            self._settle(partition)

    def role_changed(self, partition: Partition) -> None:
        """Called also when the in-sync set changes."""
        if partition.leadership is None or uses_reserve(partition.topic.name):
            if partition in self._led:
                del self._led[partition]
                partition.refuse_messages(None)
        else:
            self._led[partition] = None
            self._settle(partition)

    def look(self) -> None:
        """Decides again, as `min.insync.replicas` may have changed."""
        for partition in self._led if self._full else ():
            self._settle(partition)

    def _settle(self, partition: Partition) -> None:
        leadership = partition.leadership
        assert leadership is not None
        is_taking = takes_messages(leadership.in_sync, self._full, leadership.min_in_sync)
        partition.refuse_messages(None if is_taking else self._refusal(partition))

    def _refusal(self, partition: Partition) -> Refusal:
        full = [node for node in partition.in_sync if node in self._full]
        return DiskFull(
            f"the disk of node {', '.join(map(str, full))} is full, without which"
            f" '{partition.topic.name}' {partition.index} has fewer than min.insync.replicas: no"
            " new messages until there is room; what is there can be read, received and deleted"
        )
