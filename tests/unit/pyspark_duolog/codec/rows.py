"""Records as hypothesis makes them, and as rows of Arrow."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from duolog.records.record import Record
from pyspark_duolog.codec.arrays import HEADERS_TYPE
from pyspark_duolog.codec.encode import Rows

PAYLOADS = st.none() | st.binary(max_size=20) | st.integers(60, 300).map(lambda size: b"v" * size)
HEADERS = st.lists(st.tuples(st.text(max_size=5), PAYLOADS), max_size=3).map(tuple)
TIMESTAMPS = st.integers(-1, 1 << 45) | st.integers(-(1 << 53), 1 << 53)


def records(timestamps: st.SearchStrategy[int] = TIMESTAMPS) -> st.SearchStrategy[list[Record]]:
    record = st.builds(
        Record,
        key=PAYLOADS,
        value=PAYLOADS,
        headers=HEADERS,
        timestamp=timestamps,
        offset=st.none(),
    )
    return st.lists(record, min_size=1, max_size=12)


def numbered(some: list[Record], first_offset: int = 0) -> list[Record]:
    return [each._replace(offset=first_offset + index) for index, each in enumerate(some)]


def records_of(batches: list[pa.RecordBatch]) -> list[Record]:
    """What decoded batches hold."""
    found = []
    for batch in batches:
        microseconds = batch["timestamp"].view(pa.int64()).to_pylist()
        rows = batch.drop_columns("timestamp").to_pylist()
        for row, timestamp in zip(rows, microseconds, strict=True):
            headers = tuple((each["key"], each["value"]) for each in row["headers"] or ())
            found.append(
                Record(row["key"], row["value"], headers, timestamp // 1000, row["offset"])
            )
    return found


def dicts_of(batches: Iterable[pa.RecordBatch]) -> list[dict[str, object]]:
    """By name, with times as numbers: some are beyond what Python holds."""
    found: list[dict[str, object]] = []
    for batch in batches:
        columns = {
            name: array.view(pa.int64()) if name == "timestamp" else array
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        }
        found += pa.RecordBatch.from_pydict(columns).to_pylist()
    return found


def rows_of(some: list[Record]) -> Rows:
    headers = [
        [{"key": name, "value": value} for name, value in each.headers] or None for each in some
    ]
    return Rows(
        pa.array([each.key for each in some], pa.binary()),
        pa.array([each.value for each in some], pa.binary()),
        np.array([each.timestamp for each in some], np.int64),
        pa.array(headers, HEADERS_TYPE),
    )
