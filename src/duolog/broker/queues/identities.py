"""Message ids and sequence numbers, computed from a message's place and never stored.

A message id is a UUID made of topic, partition and offset, so it locates the message. A sequence
number orders the messages of a group, which moves only to partitions of a higher index (see
core/queues/routing.py) and never back.
"""

import uuid
from collections.abc import Sequence

from duolog.wire.sqs.texts import numbered

_OFFSET_MAX = 1 << 62
_VARIANT = 1 << 63
_PARTITION_SHIFT = 48
_SHORT_DIGITS = 12
_SHORT_OFFSETS = 1 << 4 * _SHORT_DIGITS
"""Offsets below it fit the last 12 digits of the UUID; the digits before are constant then."""


class MessageIds:
    """Ids of the messages of one partition."""

    __slots__ = ("_before_short", "_prefix")

    def __init__(self, topic_id: uuid.UUID, partition: int) -> None:
        tag = topic_id.hex[:8]
        self._prefix = f"{tag}-{partition & 0xFFFF:04x}-8{topic_id.hex[8:11]}-"
        self._before_short = f"{self._prefix}8000-"

    def of(self, offset: int) -> str:
        if offset < _SHORT_OFFSETS:
            return f"{self._before_short}{offset:012x}"
        low = f"{_VARIANT | offset:016x}"
        return f"{self._prefix}{low[:4]}-{low[4:]}"

    def of_run(self, offsets: range) -> Sequence[str]:
        """Ids of consecutive messages."""
        if offsets.stop > _SHORT_OFFSETS:
            return list(map(self.of, offsets))
        return numbered([self._before_short], [offsets.start], [len(offsets)], _SHORT_DIGITS)

    def offset_of(self, message_id: str) -> int | None:
        """Offset in a message id; None if the id is not of this partition."""
        if not message_id.startswith(self._prefix) or len(message_id) != len(self._prefix) + 17:
            return None
        try:
            low = int(message_id[len(self._prefix) :].replace("-", ""), 16)
        except ValueError:
            return None
        offset = low ^ _VARIANT
        return offset if 0 <= offset < _OFFSET_MAX else None


def sequence_number(partition: int, offset: int) -> str:
    return f"{partition << _PARTITION_SHIFT | offset:020d}"
