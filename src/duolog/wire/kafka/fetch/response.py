"""Encoder of Fetch responses, as chunks for one vectored write.

The records of a partition stay whatever the caller passed (a file range, a slice), between the
bytes that frame them, so that they can be sent without passing through Python.
"""

from collections.abc import Callable, Mapping, Sequence
from struct import Struct
from typing import TypeVar

from duolog.wire.kafka.fetch.request import FLEXIBLE_FROM, Topic
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

R = TypeVar("R")

Fetched = tuple[int, int, int, int, int, int, R | None, int]
"""index, error_code, high_watermark, last_stable_offset, log_start_offset, preferred_read_replica,
records, records_length. No records are sent as empty, never as null, which some clients do not
expect."""

_HEAD_V4 = Struct(">i")
_HEAD_V7 = Struct(">ihi")
_ROW_V4 = Struct(">ihqqii")
_ROW_V5 = Struct(">ihqqqii")
_ROW_V11 = Struct(">ihqqqiii")
_ROW_V12 = Struct(">ihqqqBi")
_DIVERGING_EPOCH = Struct(">iqx")

_DIVERGING_EPOCH_TAG = 0
_CURRENT_LEADER_TAG = 1
_NODE_ENDPOINTS_FROM = 16


def encode_response(
    version: int,
    throttle_ms: int,
    error_code: int,
    session_id: int,
    topics: Sequence[tuple[Topic, Sequence[Fetched[R]]]],
    *,
    read_committed: bool = False,
    current_leaders: Mapping[tuple[Topic, int], tuple[int, int]] | None = None,
    diverging_epochs: Mapping[tuple[Topic, int], tuple[int, int]] | None = None,
    node_endpoints: Sequence[NodeEndpoint] = (),
) -> tuple[list[bytes | R], int]:
    """The body of a response as chunks, and its length in bytes.

    A reader of committed records gets an empty list of aborted transactions, any other gets null.
    `current_leaders` maps (topic, partition) to (leader id, leader epoch), and `diverging_epochs`
    to (epoch, end offset); both are omitted for clients that cannot read them.
    """
    compact = version >= FLEXIBLE_FROM
    if compact:
        aborted, row_end = int(read_committed), NO_TAGS
        leaders, diverging = current_leaders or {}, diverging_epochs or {}
    else:
        aborted, row_end = int(read_committed) - 1, b""
        leaders = diverging = {}
    row = _ROWS[version]
    explained = bool(leaders or diverging)

    chunks: list[bytes | R] = []
    total = 0
    run = [
        _HEAD_V7.pack(throttle_ms, error_code, session_id)
        if version >= 7
        else _HEAD_V4.pack(throttle_ms),
        uvarint(len(topics) + 1) if compact else INT32.pack(len(topics)),
    ]
    for topic, partitions in topics:
        run.append(_topic_head(topic, len(partitions), compact))
        for index, error, high, stable, log_start, replica, records, length in partitions:
            run.append(row(index, error, high, stable, log_start, aborted, replica, length))
            if length:
                assert records is not None, "records that have a length"
                framing = b"".join(run)
                chunks += (framing, records)
                total += len(framing) + length
                run.clear()
            run.append(_row_tags(topic, index, leaders, diverging) if explained else row_end)
        if compact:
            run.append(NO_TAGS)
    if compact:
        run.append(encode_endpoint_tags(node_endpoints if version >= _NODE_ENDPOINTS_FROM else ()))
    framing = b"".join(run)
    if framing:
        chunks.append(framing)
    return chunks, total + len(framing)


def _topic_head(topic: Topic, partition_count: int, compact: bool) -> bytes:
    if compact:
        name = topic if isinstance(topic, bytes) else compact_string(topic)
        return name + uvarint(partition_count + 1)
    assert isinstance(topic, str), "topic ids begin at version 13"
    return legacy_string(topic) + INT32.pack(partition_count)


def _row_tags(
    topic: Topic,
    index: int,
    leaders: Mapping[tuple[Topic, int], tuple[int, int]],
    diverging: Mapping[tuple[Topic, int], tuple[int, int]],
) -> bytes:
    fields = []
    if (topic, index) in diverging:
        data = _DIVERGING_EPOCH.pack(*diverging[topic, index])
        fields.append(tagged(_DIVERGING_EPOCH_TAG, data))
    if (topic, index) in leaders:
        fields.append(tagged(_CURRENT_LEADER_TAG, encode_leader(*leaders[topic, index])))
    return tag_section(fields)


def _row_v4(
    index: int, error: int, high: int, stable: int, start: int, aborted: int, replica: int, n: int
) -> bytes:
    return _ROW_V4.pack(index, error, high, stable, aborted, n)


def _row_v5(
    index: int, error: int, high: int, stable: int, start: int, aborted: int, replica: int, n: int
) -> bytes:
    return _ROW_V5.pack(index, error, high, stable, start, aborted, n)


def _row_v12(
    index: int, error: int, high: int, stable: int, start: int, aborted: int, replica: int, n: int
) -> bytes:
    return _ROW_V12.pack(index, error, high, stable, start, aborted, replica) + uvarint(n + 1)


_ROWS: dict[int, Callable[[int, int, int, int, int, int, int, int], bytes]] = {
    4: _row_v4,
    **dict.fromkeys(range(5, 11), _row_v5),
    11: _ROW_V11.pack,
    **dict.fromkeys(range(12, 19), _row_v12),
}
