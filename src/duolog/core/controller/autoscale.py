"""Decides how many partitions a topic or queue should use, from its load. Pure.

Only topics with `autoscale.max.partitions` are considered. A topic that is hot several times in a
row doubles its partitions. A standard queue, whose messages have no order, also uses fewer of its
partitions after a long idle time, and reopens those before it grows.
"""

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, PartitionId, TopicImage
from duolog.core.controller.load_balance import load_of

HOT_LOAD = 8.0 * (1 << 20)
"""Average load per partition, in bytes a second, from which a topic is hot; one core handles
several times as much."""
IDLE_LOAD = HOT_LOAD / 20
HOT_LOOKS = 3
IDLE_LOOKS = 60
"""Consecutive looks that find a topic hot, or idle, before anything changes."""


class Scaling(NamedTuple):
    topic: TopicImage
    partitions: int
    """Number of partitions that the topic should use from now on."""
    event: Event


class Autoscale:
    def __init__(self) -> None:
        self._hot: dict[uuid.UUID, int] = {}
        self._idle: dict[uuid.UUID, int] = {}
        """Consecutive looks that found the topic idle (above: hot), by topic id."""

    def scalings(self, image: ClusterImage, now_ms: int) -> list[Scaling]:
        costs = {
            PartitionId(load.topic_id, load.index): load_of(load)
            for _, report in sorted(image.loads.items())
            for load in report.partitions
        }
        found = []
        for topic in sorted(image.topics.values(), key=lambda topic: topic.name):
            if topic.autoscale_partitions_max > 0:
                scaling = self._look(topic, _load_per_partition(topic, costs), now_ms)
                if scaling is not None:
                    found.append(scaling)
        self._hot = {key: value for key, value in self._hot.items() if key in image.topics}
        self._idle = {key: value for key, value in self._idle.items() if key in image.topics}
        return found

    def _look(self, topic: TopicImage, load: float, now_ms: int) -> Scaling | None:
        self._hot[topic.id] = self._hot.get(topic.id, 0) + 1 if load >= HOT_LOAD else 0
        self._idle[topic.id] = self._idle.get(topic.id, 0) + 1 if load <= IDLE_LOAD else 0
        is_standard = topic.kind == "standard queue"
        used = topic.open_partition_count
        if self._hot[topic.id] >= HOT_LOOKS and (wanted := _more(topic)) > used:
            self._hot[topic.id] = 0
            what = "partitions added" if wanted > topic.partitions else "partitions opened"
            text = f"Load per partition: {load / 1024:.0f} KiB/s; it now uses {wanted} partitions."
            return Scaling(topic, wanted, Event(now_ms, what, topic.name, text))
        if self._idle[topic.id] >= IDLE_LOOKS and is_standard and used > 1:
            self._idle[topic.id] = 0
            wanted = used // 2
            text = f"It has been idle; {wanted} of {used} partitions accept new messages now."
            return Scaling(topic, wanted, Event(now_ms, "partitions closed", topic.name, text))
        return None


def _more(topic: TopicImage) -> int:
    """The number of partitions that a hot topic should use."""
    used = topic.open_partition_count
    if used == topic.partitions:
        return min(2 * used, max(used, topic.autoscale_partitions_max))
    # A FIFO queue uses fewer than it has because of what its attributes promise.
    return min(2 * used, topic.partitions) if topic.kind == "standard queue" else used


def _load_per_partition(topic: TopicImage, costs: Mapping[PartitionId, float]) -> float:
    """Load of all partitions, closed ones that still drain included, over the number in use."""
    total = sum(costs.get(PartitionId(topic.id, index), 0.0) for index in range(topic.partitions))
    return total / topic.open_partition_count
