"""Who leads which partition of a queue, as this node's catalog says."""

from duolog.broker.broker import Broker
from duolog.broker.queues.queue import Queue
from duolog.core.queues.routing import partitions_for_group
from duolog.model.errors import UnknownTopicOrPartition


class Leaders:
    def __init__(self, broker: Broker, queue: Queue) -> None:
        self._catalog = broker.catalog
        self._topic = queue.topic_name
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
        """Each once; this one first."""
        found = (self.of(index) for index in range(self.partitions))
        nodes = dict.fromkeys(node for node in found if node is not None)
        return sorted(nodes, key=lambda node: (node != self.here, node))

    def of_group(self, group: bytes) -> int | None:
        """Of the partition to which messages of the group go."""
        return (
            self.of(partitions_for_group(group, self.partitions)[-1]) if self.partitions else None
        )

    def earlier(self, group: bytes) -> list[int]:
        """Partitions of other leaders in which some of the group may still be, from before the
        queue had so many."""
        leader = self.of_group(group)
        before = partitions_for_group(group, self.partitions)[:-1] if self.partitions else []
        return [index for index in reversed(before) if self.of(index) != leader]
