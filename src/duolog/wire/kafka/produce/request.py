"""Parser of Produce requests, in place.

Records are slices of the receive buffer, so they are valid only while the caller keeps it.
"""

from struct import Struct
from struct import error as StructError

import msgspec

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.primitives import (
    INT16,
    INT32,
    UUID_BYTES,
    read_long_uvarint,
    read_text,
    read_uvarint,
    skip_tags,
)

FLEXIBLE_FROM = 9
TOPIC_IDS_FROM = 13

Topic = str | bytes
"""Topic name, or its id from version 13 on."""

Partitions = list[tuple[int, memoryview | None]]


class ProduceRequest(msgspec.Struct, gc=False):
    transactional_id: str | None
    acks: int
    timeout_ms: int
    topics: list[tuple[Topic, Partitions]]


_LEGACY_HEAD = Struct(">hii")
_COMPACT_HEAD = Struct(">hiB")
_COMPACT_PARTITION = Struct(">iB")
_LEGACY_PARTITION = Struct(">ii")
_LEGACY_TOPIC_BYTES_MIN = 6
_LEGACY_PARTITION_BYTES_MIN = 8
_COMPACT_TOPIC_BYTES_MIN = 3
_COMPACT_PARTITION_BYTES_MIN = 6


def parse_request(version: int, buffer: memoryview, position: int, end: int) -> ProduceRequest:
    try:
        if version >= FLEXIBLE_FROM:
            request, position = _parse_compact(version, buffer, position, end)
        else:
            request, position = _parse_legacy(buffer, position, end)
    except (StructError, IndexError) as error:
        raise MalformedRequest("a Produce request is cut off") from error
    # Bytes that nobody reads may follow, as in every request (see metadata.py).
    if position > end:
        raise MalformedRequest("a Produce request runs past the end of its frame")
    return request


def _parse_legacy(buffer: memoryview, position: int, end: int) -> tuple[ProduceRequest, int]:
    (length,) = INT16.unpack_from(buffer, position)
    position += 2
    transactional_id = None
    if length >= 0:
        transactional_id = read_text(buffer, position, position + length, end)
        position += length
    elif length != -1:
        raise MalformedRequest("a transactional id has a negative length")
    acks, timeout_ms, topic_count = _LEGACY_HEAD.unpack_from(buffer, position)
    position += 10
    if not 0 <= topic_count * _LEGACY_TOPIC_BYTES_MIN <= end - position:
        raise MalformedRequest("a Produce request declares too many topics")
    items = topic_count
    topics: list[tuple[Topic, Partitions]] = []
    for _ in range(topic_count):
        (length,) = INT16.unpack_from(buffer, position)
        if length < 0:
            raise MalformedRequest("a topic name has a negative length")
        position += 2 + length
        name = read_text(buffer, position - length, position, end)
        (count,) = INT32.unpack_from(buffer, position)
        position += 4
        items += count
        if (
            not 0 <= count * _LEGACY_PARTITION_BYTES_MIN <= end - position
            or items > ARRAY_ITEMS_MAX
        ):
            raise MalformedRequest("a Produce request declares too many partitions")
        partitions: Partitions = []
        for _ in range(count):
            index, length = _LEGACY_PARTITION.unpack_from(buffer, position)
            position += 8
            if length >= 0:
                stop = position + length
                if stop > end:
                    raise MalformedRequest("records run past the end of their frame")
                partitions.append((index, buffer[position:stop]))
                position = stop
            elif length == -1:
                partitions.append((index, None))
            else:
                raise MalformedRequest("records have a negative length")
        topics.append((name, partitions))
    return ProduceRequest(transactional_id, acks, timeout_ms, topics), position


def _parse_compact(
    version: int, buffer: memoryview, position: int, end: int
) -> tuple[ProduceRequest, int]:
    length, position = read_uvarint(buffer, position)
    transactional_id = None
    if length:
        transactional_id = read_text(buffer, position, position + length - 1, end)
        position += length - 1
    acks, timeout_ms, items = _COMPACT_HEAD.unpack_from(buffer, position)
    position += 7
    if items >= 0x80:
        items, position = read_long_uvarint(buffer, position, items)
    items -= 1  # From here on how many topics and partitions have been declared so far.
    if not 0 <= items * _COMPACT_TOPIC_BYTES_MIN <= end - position:
        raise MalformedRequest("a Produce request declares too many topics")
    topics: list[tuple[Topic, Partitions]] = []
    for _ in range(items):
        topic: Topic
        if version >= TOPIC_IDS_FROM:
            topic = buffer[position : position + UUID_BYTES].tobytes()
            position += UUID_BYTES
        else:
            length = buffer[position]
            position += 1
            if length >= 0x80:
                length, position = read_long_uvarint(buffer, position, length)
            if length == 0:
                raise MalformedRequest("a topic name is null")
            start = position
            position += length - 1
            topic = read_text(buffer, start, position, end)
        count = buffer[position]
        position += 1
        if count >= 0x80:
            count, position = read_long_uvarint(buffer, position, count)
        count -= 1
        items += count
        if (
            not 0 <= count * _COMPACT_PARTITION_BYTES_MIN <= end - position
            or items > ARRAY_ITEMS_MAX
        ):
            raise MalformedRequest("a Produce request declares too many partitions")
        partitions: Partitions = []
        for _ in range(count):
            index, length = _COMPACT_PARTITION.unpack_from(buffer, position)
            position += 5
            if length >= 0x80:
                length, position = read_long_uvarint(buffer, position, length)
            if length:
                stop = position + length - 1
                if stop > end:
                    raise MalformedRequest("records run past the end of their frame")
                partitions.append((index, buffer[position:stop]))
                position = stop
            else:
                partitions.append((index, None))
            position = skip_tags(buffer, position, end) if buffer[position] else position + 1
        position = skip_tags(buffer, position, end) if buffer[position] else position + 1
        topics.append((topic, partitions))
    position = skip_tags(buffer, position, end)
    return ProduceRequest(transactional_id, acks, timeout_ms, topics), position
