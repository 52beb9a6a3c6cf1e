"""Names for messages that follow from where they are: nothing about them is stored.

A message id is a UUID of its topic, partition and offset, so a message is found by its id. A
sequence number orders the messages of a group, which moves only to partitions of a higher
index (see core/queues/routing.py) and never back.
"""

import uuid

_OFFSET_MAX = 1 << 62
_VARIANT = 1 << 63
_PARTITION_SHIFT = 48
_SHORT_OFFSETS = 1 << 48
"""Below this an offset leaves the first digits of the lower half to the variant."""

_LAST_DIGITS = tuple(f"{number:02x}" for number in range(256))


class MessageIds:
    """Ids of the messages of one partition."""

    def __init__(self, topic_id: uuid.UUID, partition: int) -> None:
        tag = topic_id.hex[:8]
        self._prefix = f"{tag}-{partition & 0xFFFF:04x}-8{topic_id.hex[8:11]}-"

    def of(self, offset: int) -> str:
        if offset < _SHORT_OFFSETS:
            return f"{self._prefix}8000-{offset:012x}"
        low = f"{_VARIANT | offset:016x}"
        return f"{self._prefix}{low[:4]}-{low[4:]}"

    def of_run(self, offsets: range) -> list[str]:
        """Of messages one behind the other: all but the last digits is the same of many."""
        if len(offsets) == 1 or offsets.stop > _SHORT_OFFSETS:
            return list(map(self.of, offsets))
        ids = []
        for block in range(offsets.start >> 8, (offsets.stop + 255) >> 8):
            before = f"{self._prefix}8000-{block:010x}"
            first = block << 8
            tails = _LAST_DIGITS[max(offsets.start - first, 0) : offsets.stop - first]
            ids += [before + tail for tail in tails]
        return ids

    def offset_of(self, message_id: str) -> int | None:
        """None when the id is not of this partition."""
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
