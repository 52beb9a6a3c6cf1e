"""Arrow arrays built from positions; contents are copied once, by Arrow, all together."""

import numpy as np
import pyarrow as pa

from duolog.model.errors import CorruptBatch
from duolog.model.limits import ARRAY_ITEMS_MAX
from pyspark_duolog.codec.positions import Positions, Spans, read_spans
from pyspark_duolog.codec.varints import Bytes, Integers, read_varints

HEADERS_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
TIMESTAMP_TYPE = pa.timestamp("us", tz="UTC")

_TIMESTAMP_MS_MAX = (2**63 - 1) // 1000


def binary_array(data: Bytes, spans: Spans) -> pa.Array:
    """The byte strings, copied out of `data`.

    An Arrow array may share its bytes but not skip any. So the first array, over `data` itself, has
    the gaps between the strings as items too; then every second item is taken.
    """
    count = len(spans.at)
    if spans.is_absent.all():
        return pa.nulls(count, pa.binary())
    alike = _alike_array(data, spans)
    if alike is not None:
        return alike
    edges = np.empty(2 * count, np.int32)
    edges[0::2] = spans.at
    edges[1::2] = spans.end
    with_gaps = pa.BinaryArray.from_buffers(
        pa.binary(), max(2 * count - 1, 0), [None, pa.py_buffer(edges), pa.py_buffer(data)]
    )
    wanted = np.arange(0, 2 * count, 2, dtype=np.int32)
    absent = spans.is_absent if spans.is_absent.any() else None
    return with_gaps.take(pa.array(wanted, mask=absent))


def _alike_array(data: Bytes, spans: Spans) -> pa.Array | None:
    """Strings of equal length, in half the time; None if their lengths differ."""
    count = len(spans.at)
    size = int(spans.end[0] - spans.at[0])
    if not size or spans.is_absent.any() or np.any(spans.end - spans.at != size):
        return None
    # A view with an overlapping item of `size` bytes at every position.
    items = np.ndarray(len(data) - size + 1, np.dtype((np.void, size)), data, strides=(1,))
    edges = np.arange(0, (count + 1) * size, size, dtype=np.int32)
    return pa.BinaryArray.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(edges), pa.py_buffer(items[spans.at])]
    )


def timestamp_array(milliseconds: Integers) -> pa.Array:
    """Timestamps in microseconds, as Spark has them; out-of-range ones become the nearest valid
    one."""
    held = np.clip(milliseconds, -_TIMESTAMP_MS_MAX, _TIMESTAMP_MS_MAX)
    return pa.array(held * 1000).view(TIMESTAMP_TYPE)


def headers_array(data: Bytes, positions: Positions) -> pa.Array:
    """Headers of each record; null, as in Spark's Kafka source, where a record has none."""
    count, at = read_varints(data, positions.headers_at)
    if np.any((count < 0) | (count > ARRAY_ITEMS_MAX) | (count > positions.end - at)):
        raise CorruptBatch("a record with an impossible count of headers")
    total = int(count.sum())
    names, values = _empty_spans(total), _empty_spans(total)
    first = np.cumsum(count) - count
    left = np.flatnonzero(count > 0)
    step = 0
    while left.size:
        name = read_spans(data, at[left])
        value = read_spans(data, name.end)
        if np.any(name.is_absent | (value.end > positions.end[left])):
            raise CorruptBatch("a header has no name or does not fit its record")
        for spans, found in ((names, name), (values, value)):
            for target, source in zip(spans, found, strict=True):
                target[first[left] + step] = source
        at[left] = value.end
        step += 1
        left = left[count[left] > step]
    if np.any(at != positions.end):
        raise CorruptBatch("a record is not as long as it says")
    try:
        name_array = binary_array(data, names).cast(pa.string())
    except pa.ArrowInvalid:
        raise CorruptBatch("the name of a header is not UTF-8") from None
    entries = pa.StructArray.from_arrays(
        [name_array, binary_array(data, values)], fields=list(HEADERS_TYPE.value_type)
    )
    edges = np.append(first, total).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(edges), entries, type=HEADERS_TYPE, mask=pa.array(count == 0)
    )


def _empty_spans(count: int) -> Spans:
    return Spans(np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.bool_))
