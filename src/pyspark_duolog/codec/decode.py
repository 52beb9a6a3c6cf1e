"""Record batches of one partition to Arrow: only the columns and offsets that are asked for."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from typing_extensions import Buffer

from pyspark_duolog.codec.arrays import (
    HEADERS_TYPE,
    TIMESTAMP_TYPE,
    binary_array,
    headers_array,
    timestamp_array,
)
from pyspark_duolog.codec.layout import GROUP_BYTES_MAX, Batches, find_batches, open_batches
from pyspark_duolog.codec.positions import Positions, find_positions
from pyspark_duolog.codec.varints import Bytes

OFFSET_MAX = (1 << 63) - 1

RECORD_TYPES: Mapping[str, pa.DataType] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP_TYPE,
    "timestampType": pa.int32(),
    "headers": HEADERS_TYPE,
}
"""What a record itself has, named and typed as in Spark's Kafka source."""

_MAKERS: Mapping[str, Callable[[Bytes, Positions], pa.Array]] = {
    "key": lambda data, positions: binary_array(data, positions.key),
    "value": lambda data, positions: binary_array(data, positions.value),
    "offset": lambda data, positions: pa.array(positions.offset),
    "timestamp": lambda data, positions: timestamp_array(positions.timestamp),
    "timestampType": lambda data, positions: pa.array(positions.is_append_time.astype(np.int32)),
    "headers": headers_array,
}


def decode(
    buffer: Buffer,
    columns: Sequence[str] = tuple(RECORD_TYPES),
    *,
    found: Batches | None = None,
    first_offset: int = 0,
    end_offset: int = OFFSET_MAX,
    group_bytes_max: int = GROUP_BYTES_MAX,
) -> Iterator[pa.RecordBatch]:
    """The records between the offsets, several megabytes at a time.

    `found` is what find_batches said of the buffer, for who has asked already. The buffer
    may be written to again once everything has been taken.
    """
    if found is None:
        found = find_batches(buffer, first_offset)
    schema = pa.schema([(name, RECORD_TYPES[name]) for name in columns])
    groups = open_batches(buffer, found, first_offset, end_offset, group_bytes_max=group_bytes_max)
    for group in groups:
        positions = find_positions(group)
        start, stop = np.searchsorted(positions.offset, (first_offset, end_offset))
        positions = positions.slice(int(start), int(stop))
        arrays = [_MAKERS[name](group.data, positions) for name in columns]
        if stop > start:
            yield _batch(arrays, schema, int(stop - start))


def _batch(arrays: list[pa.Array], schema: pa.Schema, count: int) -> pa.RecordBatch:
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    # A batch without columns still has rows, which Arrow can only be told of in this way.
    return pa.RecordBatch.from_arrays([pa.nulls(count)], ["none"]).select([])
