"""Metadata, versions 0-13: topics, their partitions, and the brokers that lead them.

Topics are encoded one by one, so that the caller can keep a topic's bytes until it changes.
Versions 0-8 have fixed-width lengths, 9 and later compact ones and tagged fields.
"""

from collections.abc import Sequence
from struct import Struct, pack
from struct import error as StructError

import msgspec

from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.leaders import NodeEndpoint
from duolog.wire.kafka.primitives import (
    INT16,
    INT32,
    NO_TAGS,
    NO_UUID,
    UUID_BYTES,
    check_count,
    compact_string,
    legacy_string,
    read_text,
    read_uvarint,
    skip_tags,
    uvarint,
)

FLEXIBLE_FROM = 9
TOPIC_IDS_FROM = 10

OPERATIONS_NOT_ASKED = -(2**31)
"""Value of the authorized operations when the client did not request them."""

WantedTopic = tuple[str | None, bytes | None]
"""Name and id, of which a client gives at least one."""

PartitionState = tuple[int, int, int, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""error_code, index, leader_id, leader_epoch, replicas, in-sync replicas, offline replicas."""


class MetadataRequest(msgspec.Struct, gc=False):
    topics: list[WantedTopic] | None
    """Requested topics; None for all."""
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False


_LEGACY_TOPIC_BYTES_MIN = 2
_COMPACT_TOPIC_BYTES_MIN = 2


def parse_request(version: int, buffer: memoryview, position: int, end: int) -> MetadataRequest:
    try:
        if version >= FLEXIBLE_FROM:
            topics, position = _compact_topics(version, buffer, position, end)
        else:
            topics, position = _legacy_topics(version, buffer, position, end)
        request = MetadataRequest(topics)
        if version >= 4:
            request.allow_auto_topic_creation = buffer[position] != 0
            position += 1
        if 8 <= version <= 10:
            request.include_cluster_authorized_operations = buffer[position] != 0
            position += 1
        if version >= 8:
            request.include_topic_authorized_operations = buffer[position] != 0
            position += 1
        if version >= FLEXIBLE_FROM:
            position = skip_tags(buffer, position, end)
    except (StructError, IndexError) as error:
        raise MalformedRequest("a Metadata request is cut off") from error
    # Bytes that nobody reads may follow, as Kafka allows: librdkafka asks for all topics with a
    # four-byte zero in place of a one-byte one, so that the rest of its request is left over.
    if position > end:
        raise MalformedRequest("a Metadata request runs past the end of its frame")
    return request


def _legacy_topics(
    version: int, buffer: memoryview, position: int, end: int
) -> tuple[list[WantedTopic] | None, int]:
    (count,) = INT32.unpack_from(buffer, position)
    position += 4
    # Version 0 has no null: it asks for all topics by naming none.
    if count == (-1 if version else 0):
        return None, position
    check_count(count, _LEGACY_TOPIC_BYTES_MIN, end - position)
    topics: list[WantedTopic] = []
    for _ in range(count):
        (length,) = INT16.unpack_from(buffer, position)
        if length < 0:
            raise MalformedRequest("a topic name has a negative length")
        position += 2 + length
        topics.append((read_text(buffer, position - length, position, end), None))
    return topics, position


def _compact_topics(
    version: int, buffer: memoryview, position: int, end: int
) -> tuple[list[WantedTopic] | None, int]:
    count, position = read_uvarint(buffer, position)
    if count == 0:
        return None, position
    count -= 1
    check_count(count, _COMPACT_TOPIC_BYTES_MIN, end - position)
    topics: list[WantedTopic] = []
    for _ in range(count):
        topic_id: bytes | None = None
        if version >= TOPIC_IDS_FROM:
            raw_id = buffer[position : position + UUID_BYTES].tobytes()
            topic_id = None if raw_id == NO_UUID else raw_id
            position += UUID_BYTES
        length, position = read_uvarint(buffer, position)
        name: str | None = None
        if length:
            name = read_text(buffer, position, position + length - 1, end)
            position += length - 1
        elif version < TOPIC_IDS_FROM:
            raise MalformedRequest("a topic name is null")
        position = skip_tags(buffer, position, end)
        topics.append((name, topic_id))
    return topics, position


_PARTITION_V0 = Struct(">hii")
_PARTITION_V7 = Struct(">hiii")

ReplicaLists = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
REPLICA_LISTS_REMEMBERED_MAX = 4_096
_legacy_lists_v0: dict[ReplicaLists, bytes] = {}
_legacy_lists_v5: dict[ReplicaLists, bytes] = {}
_compact_lists: dict[ReplicaLists, bytes] = {}
"""Encoded lists of replicas. A cluster has few different ones, repeated by many partitions."""


def encode_topic(
    version: int,
    error_code: int,
    name: str | None,
    topic_id: bytes,
    is_internal: bool,
    partitions: Sequence[PartitionState],
    authorized_operations: int = OPERATIONS_NOT_ASKED,
) -> bytes:
    """One topic of a response. Versions before 12 cannot express an unknown name."""
    compact = version >= FLEXIBLE_FROM
    if version < 12 and name is None:
        name = ""
    parts = [INT16.pack(error_code), compact_string(name) if compact else legacy_string(name)]
    if version >= TOPIC_IDS_FROM:
        parts.append(topic_id)
    if version >= 1:
        parts.append(b"\1" if is_internal else b"\0")
    parts.append(uvarint(len(partitions) + 1) if compact else INT32.pack(len(partitions)))
    parts += _rows(version, partitions)
    if version >= 8:
        parts.append(INT32.pack(authorized_operations))
    if compact:
        parts.append(NO_TAGS)
    return b"".join(parts)


def _rows(version: int, partitions: Sequence[PartitionState]) -> list[bytes]:
    if version >= FLEXIBLE_FROM:
        known, encode = _compact_lists, _encode_compact_lists
    elif version >= 5:
        known, encode = _legacy_lists_v5, _encode_legacy_lists
    else:
        known, encode = _legacy_lists_v0, _encode_legacy_lists_v0
    has_epoch = version >= 7
    pack_v0, pack_v7 = _PARTITION_V0.pack, _PARTITION_V7.pack
    rows = []
    previous, encoded = None, b""
    for error_code, index, leader_id, leader_epoch, replicas, in_sync, offline in partitions:
        if (replicas, in_sync, offline) != previous:
            previous = replicas, in_sync, offline
            encoded = known.get(previous) or _remember(known, previous, encode(previous))
        if has_epoch:
            row = pack_v7(error_code, index, leader_id, leader_epoch)
        else:
            row = pack_v0(error_code, index, leader_id)
        rows.append(row + encoded)
    return rows


def _remember(known: dict[ReplicaLists, bytes], lists: ReplicaLists, encoded: bytes) -> bytes:
    if len(known) >= REPLICA_LISTS_REMEMBERED_MAX:
        known.clear()
    known[lists] = encoded
    return encoded


def _encode_compact_lists(lists: ReplicaLists) -> bytes:
    """The lists and the empty tags after them: the rest of a row."""
    return b"".join(uvarint(len(nodes) + 1) + _int32s(nodes) for nodes in lists) + NO_TAGS


def _encode_legacy_lists(lists: tuple[tuple[int, ...], ...]) -> bytes:
    return b"".join(INT32.pack(len(nodes)) + _int32s(nodes) for nodes in lists)


def _encode_legacy_lists_v0(lists: ReplicaLists) -> bytes:
    """The lists without the offline replicas, which versions before 5 lack."""
    return _encode_legacy_lists(lists[:2])


def _int32s(numbers: tuple[int, ...]) -> bytes:
    return pack(f">{len(numbers)}i", *numbers)


def encode_response(
    version: int,
    brokers: Sequence[NodeEndpoint],
    cluster_id: str | None,
    controller_id: int,
    encoded_topics: Sequence[bytes],
    *,
    throttle_ms: int = 0,
    cluster_authorized_operations: int = OPERATIONS_NOT_ASKED,
    error_code: int = 0,
) -> bytes:
    """The body of a response, from topics that `encode_topic` made for the same version."""
    compact = version >= FLEXIBLE_FROM
    count = _compact_count if compact else INT32.pack
    string = compact_string if compact else legacy_string
    parts = [INT32.pack(throttle_ms)] if version >= 3 else []
    parts.append(count(len(brokers)))
    for node_id, host, port, rack in brokers:
        parts += (INT32.pack(node_id), string(host), INT32.pack(port))
        if version >= 1:
            parts.append(string(rack))
        if compact:
            parts.append(NO_TAGS)
    if version >= 2:
        parts.append(string(cluster_id))
    if version >= 1:
        parts.append(INT32.pack(controller_id))
    parts.append(count(len(encoded_topics)))
    parts += encoded_topics
    if 8 <= version <= 10:
        parts.append(INT32.pack(cluster_authorized_operations))
    if version >= 13:
        parts.append(INT16.pack(error_code))
    if compact:
        parts.append(NO_TAGS)
    return b"".join(parts)


def _compact_count(count: int) -> bytes:
    return uvarint(count + 1)
