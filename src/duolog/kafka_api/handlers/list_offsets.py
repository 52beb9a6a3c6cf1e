"""ListOffsets: a partition's first or last offset, or the first one from a time on.

No offset past the high watermark is ever named. There are no transactions, so the last stable
offset is the high watermark, and the isolation level makes no difference.
"""

from enum import IntEnum
from typing import Any

from duolog.broker.broker import Broker
from duolog.broker.partition import ANY_EPOCH, Partition
from duolog.kafka_api.client import Client
from duolog.kafka_api.errors import code_of
from duolog.kafka_api.read_places import check_consumer
from duolog.model.errors import OffsetNotAvailable, Refusal, StorageFailed, UnsupportedVersion

_UNKNOWN = -1


class Special(IntEnum):
    """Negative timestamps that ask for a special offset instead of a time."""

    LATEST = -1
    EARLIEST = -2
    LARGEST_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


_SINCE_VERSION: dict[int, int] = {
    Special.LATEST: 1,
    Special.EARLIEST: 1,
    Special.LARGEST_TIMESTAMP: 7,
    Special.EARLIEST_LOCAL: 8,
    Special.LATEST_TIERED: 9,
    Special.EARLIEST_PENDING_UPLOAD: 11,
}

Found = tuple[int, int]
"""An offset and its record's timestamp, each -1 when there is none."""


async def handle(broker: Broker, request: Any, client: Client) -> dict[str, Any]:
    topics = []
    for topic in request.topics:
        partitions = [
            await _answer(broker, request, topic.name, asked, client.api_version)
            for asked in topic.partitions
        ]
        topics.append({"name": topic.name, "partitions": partitions})
    return {"topics": topics}


async def _answer(
    broker: Broker, request: Any, topic: str, asked: Any, version: int
) -> dict[str, Any]:
    error_code, offset, timestamp, epoch = 0, _UNKNOWN, _UNKNOWN, _UNKNOWN
    try:
        check_consumer(request)
        partition = broker.led_partition(topic, asked.partition_index)
        partition.check_epoch(getattr(asked, "current_leader_epoch", ANY_EPOCH))
        offset, timestamp = await _find(broker, partition, asked.timestamp, version)
        if offset != _UNKNOWN:
            epoch = partition.log.epoch_at(offset)
    except Refusal as refusal:
        error_code = code_of(refusal)
    return {
        "partition_index": asked.partition_index,
        "error_code": error_code,
        "timestamp": timestamp,
        "offset": offset,
        "leader_epoch": epoch,
    }


async def _find(broker: Broker, partition: Partition, timestamp: int, version: int) -> Found:
    if timestamp < 0 and version < _SINCE_VERSION.get(timestamp, version + 1):
        raise UnsupportedVersion(f"timestamp {timestamp} has no meaning in version {version}")
    log = partition.log
    match timestamp:
        case Special.LATEST:
            _check_current(partition)
            return partition.high_watermark, _UNKNOWN
        case Special.EARLIEST | Special.EARLIEST_LOCAL:
            return log.start_offset, _UNKNOWN
        case Special.LATEST_TIERED | Special.EARLIEST_PENDING_UPLOAD:
            return _UNKNOWN, _UNKNOWN
        case Special.LARGEST_TIMESTAMP:
            search = log.max_timestamp_search()
        case _:
            search = log.timestamp_search(timestamp)
    _check_current(partition)
    try:
        found = await broker.disk.offload(search)
    except OSError as error:
        raise StorageFailed(f"the log could not be searched: {error}") from error
    if found is None or found[0] >= partition.high_watermark:
        return _UNKNOWN, _UNKNOWN
    return found


def _check_current(partition: Partition) -> None:
    """Refuse while a new leader does not know the high watermark, lest the end seems to go back."""
    if not partition.is_current:
        raise OffsetNotAvailable("the new leader does not know the high watermark yet")
