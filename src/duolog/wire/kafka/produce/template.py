"""Whole response frames that say: the partition took it.

Nearly every answer is one, and all but four of its numbers are known beforehand, so that it
is one packed struct. Tests prove it equal to `encode_response`.
"""

from struct import Struct

from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.frames import SIZE_BYTES, response_prefix
from duolog.wire.kafka.primitives import INT32, legacy_string, uvarint
from duolog.wire.kafka.produce.request import FLEXIBLE_FROM, Topic
from duolog.wire.kafka.produce.response import compact_topic

TEMPLATES_FROM = 5
"""The first version that has all the fields which a template fills in."""

_ROWS = {TEMPLATES_FROM: "ihqqq4x", 8: "ihqqq4xh4x", FLEXIBLE_FROM: "ihqqqB8x"}
"""Partition, error code, base offset, append time, start offset and the absence of an error
message; the padding is empty arrays, absent tags and no throttling."""


class SuccessTemplate:
    __slots__ = ("_end", "_head", "_pack", "_partition", "_size")

    def __init__(self, version: int, topic: Topic, partition: int) -> None:
        self._end: tuple[int, ...]
        if version >= FLEXIBLE_FROM:
            head, self._end = uvarint(2) + compact_topic(topic) + uvarint(2), (1,)
        else:
            assert isinstance(topic, str), "topic ids begin at version 13"
            head = INT32.pack(1) + legacy_string(topic) + INT32.pack(1)
            self._end = (-1,) if version >= 8 else ()
        # What the header has beside the size and the correlation id, which are filled in.
        self._head = response_prefix(ApiKey.PRODUCE, version, 0, 0)[2 * SIZE_BYTES :] + head
        row = _ROWS[max(first for first in _ROWS if first <= version)]
        frame = Struct(f">ii{len(self._head)}s{row}")
        self._pack = frame.pack
        self._size = frame.size - SIZE_BYTES
        self._partition = partition

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
            self._partition,
            0,
            base_offset,
            log_append_time_ms,
            log_start_offset,
            *self._end,
        )
