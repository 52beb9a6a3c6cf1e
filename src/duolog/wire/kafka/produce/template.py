"""Templates of Produce response frames for a successful append to one partition.

Nearly every answer is one, and all but four of its numbers are known beforehand, so that it is one
packed struct. Tests prove it equal to `encode_response`.
"""

from struct import Struct

from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import SIZE_BYTES, response_prefix
from duolog.wire.kafka.primitives import (
    INT32,
    NO_TAGS,
    compact_string,
    legacy_string,
    uvarint,
)
from duolog.wire.kafka.produce.request import FLEXIBLE_FROM, Topic
from duolog.wire.kafka.produce.response import compact_topic

TEMPLATES_FROM = 5
"""First version with all the fields that a template fills in."""

_ROW_START = Struct(">ih")
"""Partition and error code."""
_TAILS = {
    TEMPLATES_FROM: INT32.pack(0),
    8: INT32.pack(0) + legacy_string(None) + INT32.pack(0),
    FLEXIBLE_FROM: b"\1" + compact_string(None) + 2 * NO_TAGS + INT32.pack(0) + NO_TAGS,
}
"""Bytes after the start offset: no record errors and no error message (from version 8 on), no
throttling, no tags."""


class SuccessTemplate:
    __slots__ = ("_head", "_pack", "_size", "_tail")

    def __init__(self, version: int, topic: Topic, partition: int) -> None:
        if version >= FLEXIBLE_FROM:
            head = uvarint(2) + compact_topic(topic) + uvarint(2)
        else:
            assert isinstance(topic, str), "topic ids begin at version 13"
            head = INT32.pack(1) + legacy_string(topic) + INT32.pack(1)
        # The header without the size and the correlation id, which are filled in.
        start = response_prefix(ApiKey.PRODUCE, version, 0, 0)[2 * SIZE_BYTES :]
        self._head = start + head + _ROW_START.pack(partition, 0)
        self._tail = _TAILS[max(first for first in _TAILS if first <= version)]
        frame = Struct(f">ii{len(self._head)}sqqq{len(self._tail)}s")
        self._pack = frame.pack
        self._size = frame.size - SIZE_BYTES

    def encode(
        self,
        correlation_id: int,
        base_offset: int,
        log_append_time_ms: int,
        log_start_offset: int,
    ) -> bytes:
        return self._pack(
            self._size,
            correlation_id,
            self._head,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            self._tail,
        )
