"""Positions of every record of a group, and of every field of a record.

A record is found by the length of the one before it, so a batch can only be walked in order; but
batches are independent. The first records of all batches are found at once, then the second ones,
and so on. When few batches are left, stepping through them in Python is faster. Records of equal
size within each batch, which its length gives away, are all found at once. With all records found,
each field is one vectorised step for the whole group.
"""

from contextlib import suppress
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from duolog.model.errors import CorruptBatch
from duolog.records.varint import read_varint
from pyspark_duolog.codec.layout import Group
from pyspark_duolog.codec.varints import Bytes, Integers, read_varints

LANES_MIN = 96
"""Number of batches at which a step takes about as long in numpy as in Python."""

_LONGER_FROM = (1 << 6, 1 << 13, 1 << 20, 1 << 27)
"""Record numbers within a batch from which on a record takes one more byte."""


def _sizes_of_records() -> Integers:
    """Size of a record with its length, by its first two bytes, the lower one first.

    0 if they do not tell: a length of three or more bytes, or a negative one.
    """
    low, high = np.arange(1 << 16) & 0xFF, np.arange(1 << 16) >> 8
    zigzag = np.where(low < 0x80, low, low & 0x7F | high << 7)
    is_told = ((low < 0x80) | (high < 0x80)) & (zigzag & 1 == 0)
    return np.where(is_told, (zigzag >> 1) + 1 + (low >= 0x80), 0)


_SIZES = _sizes_of_records()


class Spans(NamedTuple):
    """Starts and ends of byte strings, in order and without overlap, and a mask of absent ones."""

    at: Integers
    end: Integers
    is_absent: npt.NDArray[np.bool_]

    def slice(self, start: int, stop: int) -> "Spans":
        return Spans(self.at[start:stop], self.end[start:stop], self.is_absent[start:stop])


class Positions(NamedTuple):
    """Fields of the records of a group, one item for each, in offset order."""

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
    """Find all records and fields. Raises only CorruptBatch, for whatever is malformed."""
    data = group.data
    at, end = _find_records(group)
    # One byte of attributes, unused so far, precedes the deltas.
    timestamp_delta, at = read_varints(data, at + 1, 64)
    offset_delta, at = read_varints(data, at)
    key = read_spans(data, at)
    value = read_spans(data, key.end)
    if np.any(value.end >= end):
        raise CorruptBatch("a key or a value does not fit its record")
    _check_order(group, offset_delta)
    count = group.record_count
    is_append_time = np.repeat(group.is_append_time, count)
    # Timestamps are machine words to clients: their sums wrap.
    timestamp = np.repeat(group.base_timestamp, count) + timestamp_delta
    if group.is_append_time.any():
        stamped = np.repeat(group.append_timestamp, count)
        timestamp = np.where(is_append_time, stamped, timestamp)
    offset = np.repeat(group.base_offset, count) + offset_delta
    return Positions(offset, timestamp, is_append_time, key, value, value.end, end)


def read_spans(data: Bytes, at: Integers) -> Spans:
    """Read length-prefixed byte strings; the caller must check that they end within their
    records."""
    length, at = read_varints(data, at)
    if np.any(length < -1):
        raise CorruptBatch("a key, value or header of a negative length")
    return Spans(at, at + np.maximum(length, 0), length < 0)


def _find_records(group: Group) -> tuple[Integers, Integers]:
    """Start of every record's content, after its length, and its end."""
    first = np.cumsum(group.record_count) - group.record_count
    # A view with an overlapping item of two bytes at every position.
    pairs = np.ndarray(max(len(group.data) - 1, 0), "<u2", group.data, strides=(1,))
    guessed = _guess_alike(group, first, pairs)
    if guessed is not None:
        end = _next(guessed, group, first)
        # A wrong guess may not even point to a number.
        with suppress(CorruptBatch):
            length, start = read_varints(group.data, guessed)
            if np.array_equal(start + length, end):
                return start, end
    at = _step_through(group, first, pairs)
    return read_varints(group.data, at)[1], _next(at, group, first)


def _next(at: Integers, group: Group, first: Integers) -> Integers:
    """End of each record: the start of the next one in its batch, or the end of the batch."""
    end = np.empty_like(at)
    end[:-1] = at[1:]
    end[first + group.record_count - 1] = group.body_end
    return end


def _guess_alike(group: Group, first: Integers, pairs: npt.NDArray[np.uint16]) -> Integers | None:
    """Starts of the records, if all fields are as long as those of the first of their batch.

    None if that is impossible. The guess must be checked: only the first records were looked at.
    """
    counts = group.record_count
    size = _record_sizes(group.data, pairs, group.body_at)
    if np.any(_alike_bytes(counts, size) != group.body_end - group.body_at):
        return None
    number = np.arange(int(counts.sum())) - np.repeat(first, counts)
    return np.repeat(group.body_at, counts) + _alike_bytes(number, np.repeat(size, counts))


def _alike_bytes(count: Integers, size: Integers) -> Integers:
    """Bytes that so many records take. They are numbered, and larger numbers take a byte more."""
    taken = count * size
    most = count.max()
    for number in _LONGER_FROM:
        if most > number:
            taken += np.maximum(count - number, 0)
    return taken


def _step_through(group: Group, first: Integers, pairs: npt.NDArray[np.uint16]) -> Integers:
    """Starts of records of any sizes."""
    record_at = np.empty(int(group.record_count.sum()), np.int64)
    order = np.argsort(-group.record_count, kind="stable")
    counts = group.record_count[order]
    at, body_end, index = group.body_at[order], group.body_end[order], first[order]
    steps = int(counts[LANES_MIN - 1]) if len(counts) >= LANES_MIN else 0
    for lanes in np.searchsorted(-counts, -np.arange(steps)).tolist():
        here = at[:lanes]
        record_at[index[:lanes]] = here
        here += _record_sizes(group.data, pairs, here)
        index[:lanes] += 1
    for lane in np.flatnonzero(counts > steps).tolist():
        start, count = int(index[lane]), int(counts[lane]) - steps
        places = _walk(group.data, int(at[lane]), int(body_end[lane]), count)
        record_at[start : start + count] = places[:-1]
        at[lane] = places[-1]
    # Every record takes at least a byte, so the other records of a batch end before its last one.
    if np.any(at != body_end):
        raise CorruptBatch("the records of a batch do not end where it ends")
    return record_at


def _record_sizes(data: Bytes, pairs: npt.NDArray[np.uint16], at: Integers) -> Integers:
    """Size of the record at each position, with its length; at least one byte each."""
    try:
        sizes = _SIZES[pairs[at]]
    except IndexError:
        raise CorruptBatch("a record reaches beyond its batch") from None
    if np.count_nonzero(sizes) == len(sizes):
        return sizes
    length, start = read_varints(data, at)
    if np.any(length < 0):
        raise CorruptBatch("a record of a negative length")
    return start - at + length


def _walk(data: Bytes, at: int, body_end: int, count: int) -> Integers:
    """Starts of the records of one batch, and the end of the last one, found in Python."""
    body = data[at:body_end].data
    places = [0]
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
            places.append(end)
    except IndexError:
        raise CorruptBatch("a record reaches beyond its batch") from None
    found = np.array(places, np.int64) + at
    lengths, starts = read_varints(data, found[:-1])
    # This also refuses odd numbers, which are negative lengths and were taken for others above.
    if np.any((lengths < 0) | (starts + lengths != found[1:])):
        raise CorruptBatch("a record reaches beyond its batch")
    return found


def _check_order(group: Group, offset_delta: Integers) -> None:
    last = np.cumsum(group.record_count) - 1
    rises = np.diff(offset_delta) > 0
    rises[last[:-1]] = True
    first = last - group.record_count + 1
    fits = (offset_delta[first] >= 0) & (offset_delta[last] <= group.last_offset_delta)
    if not (np.all(rises) and np.all(fits)):
        raise CorruptBatch("an offset is out of order or outside its batch")
