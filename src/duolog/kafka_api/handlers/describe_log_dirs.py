"""DescribeLogDirs: bytes that each partition takes in the data directory."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.kafka_api.client import Client

_UNKNOWN = -1


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for partition in _wanted(broker, request.topics):
        described = {
            "partition_index": partition.index,
            "partition_size": partition.log.size_bytes,
            "offset_lag": max(0, partition.high_watermark - partition.log.end_offset),
            "is_future_key": False,
        }
        topics.setdefault(partition.topic.name, []).append(described)
    directory = {
        "error_code": 0,
        "log_dir": _log_dir(broker),
        "topics": [{"name": name, "partitions": each} for name, each in topics.items()],
        "total_bytes": _UNKNOWN,
        "usable_bytes": broker.disk.free_bytes(),
    }
    return {"error_code": 0, "results": [directory]}


def _log_dir(broker: Broker) -> str:
    """Absolute path, because clients do not know the node's working directory."""
    return str(Path(broker.settings.text("data.dir")).absolute())


def _wanted(broker: Broker, topics: Iterable[Any] | None) -> Iterable[Partition]:
    """The partitions on this node among those named; others are left out, as in Kafka."""
    if topics is None:
        return broker.partitions()
    named = {(topic.topic, index) for topic in topics for index in topic.partitions}
    return [each for each in broker.partitions() if (each.topic.name, each.index) in named]
