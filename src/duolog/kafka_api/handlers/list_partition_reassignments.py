"""ListPartitionReassignments: the partitions that are being moved to other brokers.

Partitions that are not being moved are left out, whether they exist or not.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.catalog import Topic
from duolog.kafka_api.client import Client


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    topics = []
    for topic, indexes in _wanted(broker, request.topics):
        partitions = [each for index in indexes for each in _under_way(broker, topic, index)]
        if partitions:
            topics.append({"name": topic.name, "partitions": partitions})
    return {"error_code": 0, "error_message": None, "topics": topics}


def _wanted(broker: Broker, named: Iterable[Any] | None) -> Iterator[tuple[Topic, Iterable[int]]]:
    known = broker.catalog.topics
    if named is None:
        yield from ((topic, range(topic.partitions)) for topic in known.values())
        return
    for each in named:
        if topic := known.get(each.name):
            yield topic, [at for at in each.partition_indexes if 0 <= at < topic.partitions]


def _under_way(broker: Broker, topic: Topic, index: int) -> Iterator[dict[str, Any]]:
    state = broker.catalog.partition_state(topic, index)
    if state.adding or state.removing:
        yield {
            "partition_index": index,
            "replicas": state.replicas,
            "adding_replicas": state.adding,
            "removing_replicas": state.removing,
        }
