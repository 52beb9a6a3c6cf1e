"""Encoder of Produce responses: per partition an error, or the offset of its first record."""

from collections.abc import Mapping, Sequence
from struct import Struct

from duolog.wire.kafka.leaders import NodeEndpoint, encode_endpoint_tags, encode_leader
from duolog.wire.kafka.primitives import (
    INT32,
    NO_TAGS,
    compact_string,
    legacy_string,
    tag_section,
    tagged,
    uvarint,
)
from duolog.wire.kafka.produce.request import FLEXIBLE_FROM, Topic

NO_OFFSET = -1
NO_TIMESTAMP = -1

Produced = tuple[int, int, int, int, int, str | None]
"""index, error_code, base_offset, log_append_time_ms, log_start_offset, error_message."""

_CURRENT_LEADER_FROM = 10
_ROW_V3 = Struct(">ihqq")
_ROW_V5 = Struct(">ihqqq")
_NO_RECORD_ERRORS = bytes(4)
_NO_COMPACT_RECORD_ERRORS = b"\1"
_CURRENT_LEADER_TAG = 0


def encode_response(
    version: int,
    topics: Sequence[tuple[Topic, Sequence[Produced]]],
    throttle_ms: int = 0,
    *,
    current_leaders: Mapping[tuple[Topic, int], tuple[int, int]] | None = None,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> bytes:
    """The body of a response.

    `current_leaders` maps (topic, partition) to (leader id, leader epoch) where the producer should
    look instead; with `node_endpoints` it is only sent from version 10 on.
    """
    if version < FLEXIBLE_FROM:
        return _encode_legacy(version, topics, throttle_ms)
    leaders = current_leaders if version >= _CURRENT_LEADER_FROM and current_leaders else {}
    parts = [uvarint(len(topics) + 1)]
    for topic, rows in topics:
        parts += (compact_topic(topic), uvarint(len(rows) + 1))
        for index, error_code, base_offset, log_append_time_ms, log_start_offset, message in rows:
            parts += (
                _ROW_V5.pack(index, error_code, base_offset, log_append_time_ms, log_start_offset),
                _NO_COMPACT_RECORD_ERRORS,
                compact_string(message),
            )
            leader = leaders.get((topic, index))
            if leader is None:
                parts.append(NO_TAGS)
            else:
                parts.append(tag_section([tagged(_CURRENT_LEADER_TAG, encode_leader(*leader))]))
        parts.append(NO_TAGS)
    parts.append(INT32.pack(throttle_ms))
    parts.append(encode_endpoint_tags(node_endpoints if version >= _CURRENT_LEADER_FROM else ()))
    return b"".join(parts)


def _encode_legacy(
    version: int, topics: Sequence[tuple[Topic, Sequence[Produced]]], throttle_ms: int
) -> bytes:
    parts = [INT32.pack(len(topics))]
    for topic, rows in topics:
        assert isinstance(topic, str), "topic ids begin at version 13"
        parts += (legacy_string(topic), INT32.pack(len(rows)))
        for index, error_code, base_offset, log_append_time_ms, log_start_offset, message in rows:
            if version < 5:
                parts.append(_ROW_V3.pack(index, error_code, base_offset, log_append_time_ms))
                continue
            parts.append(
                _ROW_V5.pack(index, error_code, base_offset, log_append_time_ms, log_start_offset)
            )
            if version >= 8:
                parts += (_NO_RECORD_ERRORS, legacy_string(message))
    parts.append(INT32.pack(throttle_ms))
    return b"".join(parts)


def compact_topic(topic: Topic) -> bytes:
    return topic if isinstance(topic, bytes) else compact_string(topic)
