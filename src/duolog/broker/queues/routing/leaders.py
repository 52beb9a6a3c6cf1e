"""Leaders of a queue's partitions, and the partitions of its groups, by this node's catalog."""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.broker.broker import Broker
from duolog.broker.queues.queue import Queue
from duolog.core.queues.routing import partition_for_group, partitions_for_group
from duolog.model.errors import UnknownTopicOrPartition


class GroupPlacement(NamedTuple):
    """Partitions of a FIFO queue that a message group may be in, at one revision of the topic.

    A group goes to its home, the partition that its hash names. While another partition still has
    messages of it, from before the queue grew, the group continues there. So a sender asks the
    other partitions first; each answers only if it knows the same revision of the topic. Once one
    has answered, neither it nor a later leader lets the group in again: any later leader was
    elected after that revision and knows it.
    """

    revision: int
    partitions: int
    open_partition_count: int

    def home_of(self, group: bytes) -> int:
        return partition_for_group(group, self.open_partition_count)

    def elsewhere(self, group: bytes, *, anywhere: bool) -> list[int]:
        """Other partitions that may have messages of the group, likeliest first. `anywhere`: all
        others, because the message may duplicate one of any group."""
        home = self.home_of(group)
        found = range(self.partitions) if anywhere else partitions_for_group(group, self.partitions)
        return [index for index in reversed(found) if index != home]


class Leaders:
    __slots__ = ("_catalog", "_is_own", "_topic", "here")

    def __init__(self, broker: Broker, queue: Queue) -> None:
        self._catalog = broker.catalog
        self._topic = queue.topic_name
        self._is_own = queue.config.source_topic is None
        self.here = broker.node_id

    @property
    def partitions(self) -> int:
        """Partition count; 0 while this node does not know the topic."""
        topic = self._catalog.topics.get(self._topic)
        return 0 if topic is None else topic.partitions

    def of(self, index: int) -> int | None:
        """Node id of the partition's leader; None if it has none or does not exist."""
        try:
            return self._catalog.leader_of(self._topic, index)
        except UnknownTopicOrPartition:
            return None

    def nodes(self) -> list[int]:
        """Nodes that may have messages, this node first."""
        topic = self._catalog.topics.get(self._topic)
        retired = topic.retired if topic is not None and self._is_own else ()
        return self._leading(index for index in range(self.partitions) if index not in retired)

    def takers(self) -> list[int]:
        """Nodes that lead open partitions, which take messages, this node first."""
        topic = self._catalog.topics.get(self._topic)
        open_partition_count = (
            topic.open_partition_count if topic is not None and self._is_own else self.partitions
        )
        return self._leading(range(open_partition_count))

    def _leading(self, indexes: Iterable[int]) -> list[int]:
        found = (self.of(index) for index in indexes)
        nodes = dict.fromkeys(node for node in found if node is not None)
        return sorted(nodes, key=lambda node: (node != self.here, node))

    def group_placement(self) -> GroupPlacement | None:
        """Placement of groups by the current topic; None while this node does not know it."""
        topic = self._catalog.topics.get(self._topic)
        if topic is None:
            return None
        return GroupPlacement(topic.mod_revision, topic.partitions, topic.open_partition_count)
