"""Parser of Fetch requests, from consumers and followers, in place."""

from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import TypeVar

import msgspec

from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.primitives import (
    INT16,
    INT32,
    UUID_BYTES,
    check_count,
    read_tags,
    read_text,
    read_uvarint,
    skip_tags,
)

FLEXIBLE_FROM = 12
TOPIC_IDS_FROM = 13
REPLICA_STATE_FROM = 15

CONSUMER_REPLICA_ID = -1
NO_EPOCH = -1
NO_OFFSET = -1
NO_SESSION_ID = 0
FINAL_SESSION_EPOCH = -1

Row = TypeVar("Row")

Topic = str | bytes
"""Topic name, or its id from version 13 on."""

Wanted = tuple[int, int, int, int, int, int]
"""partition, current_leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset,
partition_max_bytes."""


class FetchRequest(msgspec.Struct, gc=False):
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    replica_id: int
    """Node id of the follower; -1 for a consumer."""
    topics: list[tuple[Topic, list[Wanted]]] = []
    forgotten: list[tuple[Topic, list[int]]] = []
    """Partitions to drop from the fetch session."""
    rack_id: str = ""
    replica_epoch: int = NO_EPOCH
    cluster_id: str | None = None


_HEAD_V4 = Struct(">iiiib")
_HEAD_V7 = Struct(">iiiibii")
_HEAD_V15 = Struct(">iiibii")
_WANTED_V4 = Struct(">iqi")
_WANTED_V5 = Struct(">iqqi")
_WANTED_V9 = Struct(">iiqqi")
_WANTED_V12 = Struct(">iiqiqix")
_REPLICA_STATE = Struct(">iq")
_LEGACY_TOPIC_BYTES_MIN = 6
_COMPACT_TOPIC_BYTES_MIN = 3
_CLUSTER_ID_TAG = 0
_REPLICA_STATE_TAG = 1

Rows = Callable[[memoryview, int, int, int], tuple[list[Row], int]]
"""Reads `count` rows of a topic: (buffer, position, count, end) -> (rows, next position)."""


def parse_request(version: int, buffer: memoryview, position: int, end: int) -> FetchRequest:
    try:
        request, position = _parse(version, buffer, position, end)
    except (StructError, IndexError) as error:
        raise MalformedRequest("a Fetch request is cut off") from error
    # Bytes that nobody reads may follow, as in every request (see metadata.py).
    if position > end:
        raise MalformedRequest("a Fetch request runs past the end of its frame")
    return request


def _parse(version: int, buffer: memoryview, position: int, end: int) -> tuple[FetchRequest, int]:
    replica_id, session_id, session_epoch = CONSUMER_REPLICA_ID, NO_SESSION_ID, FINAL_SESSION_EPOCH
    if version >= REPLICA_STATE_FROM:
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch = (
            _HEAD_V15.unpack_from(buffer, position)
        )
        position += _HEAD_V15.size
    elif version >= 7:
        (
            replica_id,
            max_wait_ms,
            min_bytes,
            max_bytes,
            isolation_level,
            session_id,
            session_epoch,
        ) = _HEAD_V7.unpack_from(buffer, position)
        position += _HEAD_V7.size
    else:
        replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level = _HEAD_V4.unpack_from(
            buffer, position
        )
        position += _HEAD_V4.size
    request = FetchRequest(
        max_wait_ms, min_bytes, max_bytes, isolation_level, session_id, session_epoch, replica_id
    )
    if version >= FLEXIBLE_FROM:
        return request, _parse_compact(request, version, buffer, position, end)
    return request, _parse_legacy(request, version, buffer, position, end)


def _parse_legacy(
    request: FetchRequest, version: int, buffer: memoryview, position: int, end: int
) -> int:
    rows, row_bytes = _LEGACY_ROWS[version]
    request.topics, position, items = _legacy_topics(buffer, position, end, rows, row_bytes, 0)
    if version >= 7:
        request.forgotten, position, _ = _legacy_topics(
            buffer, position, end, _indexes, INT32.size, items
        )
    if version >= 11:
        (length,) = INT16.unpack_from(buffer, position)
        if length < 0:
            raise MalformedRequest("a rack id has a negative length")
        position += 2 + length
        request.rack_id = read_text(buffer, position - length, position, end)
    return position


def _legacy_topics(
    buffer: memoryview, position: int, end: int, rows: Rows[Row], row_bytes: int, items: int
) -> tuple[list[tuple[Topic, list[Row]]], int, int]:
    (topic_count,) = INT32.unpack_from(buffer, position)
    position += 4
    if topic_count == 0:
        return [], position, items
    items += topic_count
    check_count(topic_count, _LEGACY_TOPIC_BYTES_MIN, end - position, items)
    topics: list[tuple[Topic, list[Row]]] = []
    for _ in range(topic_count):
        (length,) = INT16.unpack_from(buffer, position)
        if length < 0:
            raise MalformedRequest("a topic name has a negative length")
        position += 2 + length
        name = read_text(buffer, position - length, position, end)
        (count,) = INT32.unpack_from(buffer, position)
        position += 4
        items += count
        check_count(count, row_bytes, end - position, items)
        topic_rows, position = rows(buffer, position, count, end)
        topics.append((name, topic_rows))
    return topics, position, items


def _parse_compact(
    request: FetchRequest, version: int, buffer: memoryview, position: int, end: int
) -> int:
    ids = version >= TOPIC_IDS_FROM
    request.topics, position, items = _compact_topics(
        buffer, position, end, ids, _wanted_v12, _WANTED_V12.size, 0
    )
    request.forgotten, position, _ = _compact_topics(
        buffer, position, end, ids, _indexes, INT32.size, items
    )
    length, position = read_uvarint(buffer, position)
    if length == 0:
        raise MalformedRequest("a rack id is null")
    request.rack_id = read_text(buffer, position, position + length - 1, end)
    position += length - 1
    if buffer[position] == 0:
        return position + 1
    tags, position = read_tags(buffer, position, end)
    if _CLUSTER_ID_TAG in tags:
        data = tags[_CLUSTER_ID_TAG]
        length, start = read_uvarint(data, 0)
        if start + max(length - 1, 0) != len(data):
            raise MalformedRequest("a cluster id does not fill its field")
        request.cluster_id = read_text(data, start, len(data), len(data)) if length else None
    if version >= REPLICA_STATE_FROM and _REPLICA_STATE_TAG in tags:
        data = tags[_REPLICA_STATE_TAG]
        request.replica_id, request.replica_epoch = _REPLICA_STATE.unpack_from(data)
        if skip_tags(data, _REPLICA_STATE.size, len(data)) != len(data):
            raise MalformedRequest("a replica state does not fill its field")
    return position


def _compact_topics(
    buffer: memoryview,
    position: int,
    end: int,
    ids: bool,
    rows: Rows[Row],
    row_bytes: int,
    items: int,
) -> tuple[list[tuple[Topic, list[Row]]], int, int]:
    topic_count, position = read_uvarint(buffer, position)
    topic_count -= 1
    items += topic_count
    check_count(topic_count, _COMPACT_TOPIC_BYTES_MIN, end - position, items)
    topics: list[tuple[Topic, list[Row]]] = []
    for _ in range(topic_count):
        topic: Topic
        if ids:
            topic = buffer[position : position + UUID_BYTES].tobytes()
            position += UUID_BYTES
        else:
            length, position = read_uvarint(buffer, position)
            if length == 0:
                raise MalformedRequest("a topic name is null")
            topic = read_text(buffer, position, position + length - 1, end)
            position += length - 1
        count, position = read_uvarint(buffer, position)
        count -= 1
        items += count
        check_count(count, row_bytes, end - position, items)
        topic_rows, position = rows(buffer, position, count, end)
        position = skip_tags(buffer, position, end)
        topics.append((topic, topic_rows))
    return topics, position, items


def _wanted_v4(buffer: memoryview, start: int, count: int, end: int) -> tuple[list[Wanted], int]:
    stop = start + count * _WANTED_V4.size
    return [
        (partition, NO_EPOCH, offset, NO_EPOCH, NO_OFFSET, max_bytes)
        for partition, offset, max_bytes in _WANTED_V4.iter_unpack(buffer[start:stop])
    ], stop


def _wanted_v5(buffer: memoryview, start: int, count: int, end: int) -> tuple[list[Wanted], int]:
    stop = start + count * _WANTED_V5.size
    return [
        (partition, NO_EPOCH, offset, NO_EPOCH, log_start, max_bytes)
        for partition, offset, log_start, max_bytes in _WANTED_V5.iter_unpack(buffer[start:stop])
    ], stop


def _wanted_v9(buffer: memoryview, start: int, count: int, end: int) -> tuple[list[Wanted], int]:
    stop = start + count * _WANTED_V9.size
    return [
        (partition, epoch, offset, NO_EPOCH, log_start, max_bytes)
        for partition, epoch, offset, log_start, max_bytes in _WANTED_V9.iter_unpack(
            buffer[start:stop]
        )
    ], stop


def _wanted_v12(buffer: memoryview, start: int, count: int, end: int) -> tuple[list[Wanted], int]:
    size = _WANTED_V12.size
    stop = start + count * size
    # Consumers send no tagged fields. If every byte where a row without them would end is a zero
    # count, then the first row has none, so that the second begins there, and so on.
    if not any(buffer[start + size - 1 : stop : size]):
        return list(_WANTED_V12.iter_unpack(buffer[start:stop])), stop
    wanted: list[Wanted] = []
    for _ in range(count):
        wanted.append(_WANTED_V12.unpack_from(buffer, start))
        start = skip_tags(buffer, start + size - 1, end)
    return wanted, start


def _indexes(buffer: memoryview, start: int, count: int, end: int) -> tuple[list[int], int]:
    stop = start + count * INT32.size
    return [index for (index,) in INT32.iter_unpack(buffer[start:stop])], stop


_LEGACY_ROWS: dict[int, tuple[Rows[Wanted], int]] = {
    4: (_wanted_v4, _WANTED_V4.size),
    **dict.fromkeys(range(5, 9), (_wanted_v5, _WANTED_V5.size)),
    **dict.fromkeys(range(9, 12), (_wanted_v9, _WANTED_V9.size)),
}
