"""Who leads which partition of a queue, as this node's catalog says."""

from collections.abc import Iterable
from typing import NamedTuple

from duolog.broker.broker import Broker
from duolog.broker.queues.queue import Queue
from duolog.core.queues.routing import partition_for_group, partitions_for_group
from duolog.model.errors import UnknownTopicOrPartition


class GroupPlacement(NamedTuple):
    """Which partitions of a FIFO queue a message group may be in.

    It goes to the one that its hash names. While some of it is in another, from before the
    queue had as many partitions as now, it goes on there. So a sender asks the others first,
    and each answers by the same revision of the topic as the sender, or not at all. Whoever
    has answered never lets the group in again, nor does a later leader: it was elected after
    that revision and has heard of it.
    """

    revision: int
    partitions: int
    open_partitions: int

    def home_of(self, group: bytes) -> int:
        return partition_for_group(group, self.open_partitions)

    def elsewhere(self, group: bytes, *, anywhere: bool) -> list[int]:
        """The others in which some of the group may be, the likeliest first; or all others,
        where one of another group may make the message a repetition."""
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
        """Zero while this node has not heard of the topic."""
        topic = self._catalog.topics.get(self._topic)
        return 0 if topic is None else topic.partitions

    def of(self, index: int) -> int | None:
        """None while nobody leads the partition, or there is none."""
        try:
            return self._catalog.leader_of(self._topic, index)
        except UnknownTopicOrPartition:
            return None

    def nodes(self) -> list[int]:
        """Those that may have messages, each once; this one first."""
        topic = self._catalog.topics.get(self._topic)
        retired = topic.retired if topic is not None and self._is_own else ()
        return self._leading(index for index in range(self.partitions) if index not in retired)

    def takers(self) -> list[int]:
        """Those that take messages, likewise."""
        topic = self._catalog.topics.get(self._topic)
        open_partitions = (
            topic.open_partition_count if topic is not None and self._is_own else self.partitions
        )
        return self._leading(range(open_partitions))

    def _leading(self, indexes: Iterable[int]) -> list[int]:
        found = (self.of(index) for index in indexes)
        nodes = dict.fromkeys(node for node in found if node is not None)
        return sorted(nodes, key=lambda node: (node != self.here, node))

    def group_placement(self) -> GroupPlacement | None:
        """None while this node has not heard of the topic."""
        topic = self._catalog.topics.get(self._topic)
        if topic is None:
            return None
        return GroupPlacement(topic.mod_revision, topic.partitions, topic.open_partition_count)
