"""Where every record of a group lies, and every field of a record.

A record is found by the length of the one before it, so a batch can only be walked in order;
but batches are independent. The first records of all batches are found at once, then the
second ones, and so on. When few batches are left, stepping through them in Python is faster.
With all records found, each field is one vectorised step for the whole group.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from duolog.model.errors import CorruptBatch
from duolog.records.varint import read_varint
from pyspark_duolog.codec.layout import Group
from pyspark_duolog.codec.varints import Bytes, Integers, read_varints

LANES_MIN = 96
"""A step through this many batches takes about as long in numpy as in Python."""


class Spans(NamedTuple):
    """Where byte strings start and end, in order and without overlap, and which are absent."""

    at: Integers
    end: Integers
    is_absent: npt.NDArray[np.bool_]

    def slice(self, start: int, stop: int) -> "Spans":
        return Spans(self.at[start:stop], self.end[start:stop], self.is_absent[start:stop])


class Positions(NamedTuple):
    """Of the records of a group; an item for each, in the order of their offsets."""

    offset: Integers
    timestamp: Integers
    is_append_time: Integers
    key: Spans
    value: Spans
    headers_at: Integers
    end: Integers

    def slice(self, start: int, stop: int) -> "Positions":
        return Positions(*(_sliced(each, start, stop) for each in self))  # type: ignore[arg-type]


def _sliced(each: "Integers | Spans", start: int, stop: int) -> "Integers | Spans":
    return each.slice(start, stop) if isinstance(each, Spans) else each[start:stop]


def find_positions(group: Group) -> Positions:
    """CorruptBatch for whatever is not as it should be; nothing else is ever raised for it."""
    data = group.data
    at, end = _find_records(group)
    # One byte of attributes, which mean nothing so far, precedes the deltas.
    timestamp_delta, at = read_varints(data, at + 1, 64)
    offset_delta, at = read_varints(data, at)
    key = read_spans(data, at)
    value = read_spans(data, key.end)
    if np.any(value.end >= end):
        raise CorruptBatch("a key or a value does not fit its record")
    _check_order(group, offset_delta)
    count = group.record_count
    is_append_time = np.repeat(group.is_append_time, count)
    timestamp = np.where(
        is_append_time,
        np.repeat(group.append_timestamp, count),
        # Timestamps are machine words to clients: their sums wrap.
        np.repeat(group.base_timestamp, count) + timestamp_delta,
    )
    offset = np.repeat(group.base_offset, count) + offset_delta
    return Positions(offset, timestamp, is_append_time, key, value, value.end, end)


def read_spans(data: Bytes, at: Integers) -> Spans:
    """Length-prefixed byte strings; the caller compares where they end with where they may."""
    length, at = read_varints(data, at)
    if np.any(length < -1):
        raise CorruptBatch("a key, value or header of a negative length")
    return Spans(at, at + np.maximum(length, 0), length < 0)


def _find_records(group: Group) -> tuple[Integers, Integers]:
    """Where the content of every record starts, after its length, and where it ends."""
    total = int(group.record_count.sum())
    record_at, record_end = np.empty(total, np.int64), np.empty(total, np.int64)
    order = np.argsort(-group.record_count, kind="stable")
    counts = group.record_count[order]
    at, body_end = group.body_at[order], group.body_end[order]
    index = (np.cumsum(group.record_count) - group.record_count)[order]
    step = 0
    lanes = len(order)
    while lanes >= LANES_MIN:
        length, start = read_varints(group.data, at[:lanes])
        end = start + length
        if np.any((length < 0) | (end > body_end[:lanes])):
            raise CorruptBatch("a record reaches beyond its batch")
        record_at[index[:lanes]] = start
        record_end[index[:lanes]] = end
        at[:lanes] = end
        index[:lanes] += 1
        step += 1
        lanes = int(np.searchsorted(-counts, -step))
    for lane in range(lanes):
        first, count = int(index[lane]), int(counts[lane]) - step
        starts, ends = _walk(group.data, int(at[lane]), int(body_end[lane]), count)
        record_at[first : first + count] = starts
        record_end[first : first + count] = ends
        at[lane] = ends[-1]
    if np.any(at != body_end):
        raise CorruptBatch("bytes are left after the last record of a batch")
    return record_at, record_end


def _walk(data: Bytes, at: int, body_end: int, count: int) -> tuple[Integers, Integers]:
    """One batch, record by record: only where each ends is found in Python."""
    body = data[at:body_end].data
    ends = []
    end = 0
    try:
        for _ in range(count):
            # Most lengths take two bytes; a call for each would take as long as all the rest.
            first, second = body[end], body[end + 1]
            if first >= 0x80 and second < 0x80:
                end += 2 + ((first & 0x7F | second << 7) >> 1)
            else:
                length, start = read_varint(body, end)
                end = start + length
            ends.append(end)
    except IndexError:
        raise CorruptBatch("a record reaches beyond its batch") from None
    found = np.array(ends, np.int64) + at
    lengths, starts = read_varints(data, np.concatenate(([at], found[:-1])))
    # This also refuses odd numbers, which are negative lengths and were taken for others above.
    if np.any((lengths < 0) | (starts + lengths != found) | (found > body_end)):
        raise CorruptBatch("a record reaches beyond its batch")
    return starts, found


def _check_order(group: Group, offset_delta: Integers) -> None:
    last = np.cumsum(group.record_count) - 1
    rises = np.diff(offset_delta) > 0
    rises[last[:-1]] = True
    first = last - group.record_count + 1
    fits = (offset_delta[first] >= 0) & (offset_delta[last] <= group.last_offset_delta)
    if not (np.all(rises) and np.all(fits)):
        raise CorruptBatch("an offset is out of order or outside its batch")
