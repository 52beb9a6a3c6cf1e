"""Recognises a request with the same shape as the one before, which need not be parsed again.

A producer repeats the same bytes but for the correlation id and the records: its client id, acks,
time-out, topic and partition. Most clients put one partition into a request. The shape of a parsed
request is the bytes between the correlation id and the length of the records; if a frame begins
with it, only that length is left to read.
"""

from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.primitives import INT32, NO_TAGS, read_uvarint, uvarint
from duolog.wire.kafka.produce.request import FLEXIBLE_FROM, ProduceRequest

SHAPE_BYTES_MAX = 1_024

_TAGS_AFTER_RECORDS = NO_TAGS * 3
"""Empty tagged fields of the partition, of the topic and of the request."""


def shape_of(
    version: int, request: ProduceRequest, frame: memoryview, position: int, end: int
) -> bytes | None:
    """The shape of a parsed request, whose bytes after the correlation id are at `position`.

    None if it has more than one partition, or anything unusual.
    """
    if len(request.topics) != 1 or len(request.topics[0][1]) != 1:
        return None
    records = request.topics[0][1][0][1]
    if records is None:
        return None
    length_at = end - len(records)
    if version >= FLEXIBLE_FROM:
        length_at -= len(_TAGS_AFTER_RECORDS) + len(uvarint(len(records) + 1))
    else:
        length_at -= INT32.size
    shape = frame[position:length_at].tobytes()
    if len(shape) > SHAPE_BYTES_MAX:
        return None
    found = records_after(version, frame, length_at, end)
    return shape if found is not None and len(found) == len(records) else None


def records_after(version: int, frame: memoryview, position: int, end: int) -> memoryview | None:
    """The records of a frame whose shape ends at `position`; None if the rest is unusual."""
    if version < FLEXIBLE_FROM:
        start = position + 4
        if start > end or INT32.unpack_from(frame, position)[0] != end - start:
            return None
        return frame[start:end]
    stop = end - 3
    if stop <= position or frame[stop:end] != _TAGS_AFTER_RECORDS:
        return None
    try:
        length, start = read_uvarint(frame, position)
    except (IndexError, MalformedRequest):
        return None
    return frame[start:stop] if length and start + length - 1 == stop else None
