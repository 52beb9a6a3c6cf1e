"""Decides how many partitions a topic or queue should have, by how busy it is. Pure.

Only those with `autoscale.max.partitions` are looked at. Growing waits until a topic was hot
several times in a row, and doubles it; a standard queue, whose messages have no order, also
shrinks after it was idle for long.
"""

import uuid
from collections.abc import Mapping
from typing import NamedTuple

from duolog.core.controller.events import Event
from duolog.core.controller.image import ClusterImage, PartitionId, TopicImage
from duolog.core.controller.load_balance import load_of

HOT_LOAD = 8.0 * (1 << 20)
"""Of one partition, on average over the topic's: one core does several times as much."""
IDLE_LOAD = HOT_LOAD / 20
HOT_LOOKS = 3
IDLE_LOOKS = 60
"""In a row."""


class Scaling(NamedTuple):
    topic: TopicImage
    partitions: int
    """How many it should have."""
    event: Event


class Autoscale:
    def __init__(self) -> None:
        self._hot: dict[uuid.UUID, int] = {}
        self._idle: dict[uuid.UUID, int] = {}
        """How often in a row a topic was found so."""

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
        most = topic.autoscale_partitions_max
        if self._hot[topic.id] >= HOT_LOOKS and topic.partitions < most:
            self._hot[topic.id] = 0
            wanted = min(2 * topic.partitions, most)
            text = f"Each of its partitions makes {load / 1024:.0f} KiB/s of load; now {wanted}."
            return Scaling(topic, wanted, Event(now_ms, "partitions added", topic.name, text))
        can_shrink = topic.kind == "standard queue" and topic.partitions > 1
        if self._idle[topic.id] >= IDLE_LOOKS and can_shrink:
            self._idle[topic.id] = 0
            wanted = topic.partitions // 2
            text = f"It has been idle; {wanted} of {topic.partitions} partitions are enough."
            return Scaling(topic, wanted, Event(now_ms, "partitions idle", topic.name, text))
        return None


def _load_per_partition(topic: TopicImage, costs: Mapping[PartitionId, float]) -> float:
    total = sum(costs.get(PartitionId(topic.id, index), 0.0) for index in range(topic.partitions))
    return total / topic.partitions
