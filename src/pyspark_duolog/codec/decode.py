"""Decodes record batches of one partition to Arrow: only the requested columns and offsets."""

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
PART_BYTES = 5 << 19
"""Bytes of records handed on together.

Records are copied here, to the JVM and several times in it, which is cheaper while they stay in a
cache. Beyond a few megabytes the JVM also allocates fresh memory for each part.
"""

RECORD_TYPES: Mapping[str, pa.DataType] = {
    "key": pa.binary(),
    "value": pa.binary(),
    "offset": pa.int64(),
    "timestamp": TIMESTAMP_TYPE,
    "timestampType": pa.int32(),
    "headers": HEADERS_TYPE,
}
"""Columns decoded from a record, named and typed as in Spark's Kafka source."""

_NUMBERS: Mapping[str, Callable[[Positions], pa.Array]] = {
    "offset": lambda positions: pa.array(positions.offset),
    "timestamp": lambda positions: timestamp_array(positions.timestamp),
    "timestampType": lambda positions: pa.array(positions.is_append_time.astype(np.int32)),
}
_CONTENTS: Mapping[str, Callable[[Bytes, Positions], pa.Array]] = {
    "key": lambda data, positions: binary_array(data, positions.key),
    "value": lambda data, positions: binary_array(data, positions.value),
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
    part_bytes: int = PART_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Decode the records between the offsets, about `part_bytes` at a time.

    `found` is the result of find_batches, for a caller that has it already. The buffer may be
    reused once all parts were taken.
    """
    if found is None:
        found = find_batches(buffer, first_offset)
    schema = pa.schema([(name, RECORD_TYPES[name]) for name in columns])
    groups = open_batches(buffer, found, first_offset, end_offset, group_bytes_max=group_bytes_max)
    for group in groups:
        positions = find_positions(group)
        start, stop = np.searchsorted(positions.offset, (first_offset, end_offset)).tolist()
        group_bytes = int(group.body_end[-1] - group.body_at[0])
        step = max(len(positions.offset) * part_bytes // group_bytes, 1)
        # Small columns are built for all parts at once, large ones just before their part is taken.
        numbers = {name: _NUMBERS[name](positions) for name in columns if name in _NUMBERS}
        for first in range(start, stop, step):
            part = positions.slice(first, min(first + step, stop))
            count = len(part.offset)
            arrays = [
                numbers[name].slice(first, count)
                if name in numbers
                else _CONTENTS[name](group.data, part)
                for name in columns
            ]
            yield _batch(arrays, schema, count)


def _batch(arrays: list[pa.Array], schema: pa.Schema, count: int) -> pa.RecordBatch:
    if arrays:
        return pa.RecordBatch.from_arrays(arrays, schema=schema)
    # A batch without columns still has rows; only this way tells Arrow their number.
    return pa.RecordBatch.from_arrays([pa.nulls(count)], ["none"]).select([])
