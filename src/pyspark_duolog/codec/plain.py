"""Plain batches to Arrow in one pass of C, if it was compiled.

Most batches are plain: a user's, and not compressed. A batch that is not, or is damaged, or too
large for a part, is left in place for decode to open or to refuse; so are all of them without the
compiled module, or when headers are requested.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from typing_extensions import Buffer

from pyspark_duolog.codec.arrays import TIMESTAMP_TYPE
from pyspark_duolog.codec.decode import PART_BYTES, RECORD_TYPES

try:
    from pyspark_duolog.codec import _plain
except ImportError:
    # There was no compiler, or the processor lacks an instruction.
    _plain = None  # type: ignore[assignment]

ROWS_MAX = PART_BYTES // 64
"""Limit of rows in a part, for parts of small rows."""

_STATES = 7
_ROWS, _KEY_BYTES, _VALUE_BYTES, _BASE_OFFSET, _NEXT_OFFSET, _LAST_EPOCH, _STOPPED = range(_STATES)
_AT_THE_END, _FULL, _NOT_PLAIN = range(3)
_KEY, _VALUE = range(2)
_TAKEN = frozenset(RECORD_TYPES) - {"headers"}


class Part(NamedTuple):
    """Wanted records of some consecutive batches."""

    base_offset: int
    next_offset: int
    last_epoch: int
    rows: pa.RecordBatch


def is_taken(columns: Sequence[str]) -> bool:
    """True if batches can be taken at all, for these columns."""
    return _plain is not None and bool(columns) and _TAKEN.issuperset(columns)


class Taking:
    """Gathers rows of one partition while their batches are read."""

    def __init__(
        self,
        columns: Sequence[str],
        first_offset: int,
        end_offset: int,
        *,
        part_bytes: int = PART_BYTES,
    ) -> None:
        """Take columns for which `is_taken` holds, of records between the offsets."""
        self._columns = columns
        self._schema = pa.schema([(name, RECORD_TYPES[name]) for name in columns])
        self._first_offset = first_offset
        self._end_offset = end_offset
        self._part_bytes = part_bytes
        self._state = np.zeros(_STATES, np.int64)
        self._parts: list[Part] = []
        self.bytes_taken = 0
        self._keys = np.empty(part_bytes if "key" in columns else 0, np.uint8)
        self._begin()

    @property
    def next_offset(self) -> int:
        """Offset after everything taken."""
        return max(self._first_offset, int(self._state[_NEXT_OFFSET]))

    @property
    def is_stuck(self) -> bool:
        """True if the next batch cannot be taken, even with more bytes."""
        return bool(self._state[_STOPPED] != _AT_THE_END)

    def take(self, batches: Buffer, at: int, filled: int) -> int:
        """Take complete batches from `at` on; returns their end."""
        end = at
        while True:
            end = _plain.take(
                batches,
                end,
                filled,
                self._first_offset,
                self._end_offset,
                self._state,
                self._numbers,
                self._types,
                self._edges,
                self._flags,
                self._keys,
                self._values,
            )
            if self._state[_STOPPED] != _FULL or not self._state[_ROWS]:
                break
            self._cut()
        self.bytes_taken += end - at
        return end

    def parts(self) -> list[Part]:
        """Parts that became full since the last call."""
        full, self._parts = self._parts, []
        return full

    def rest(self) -> list[Part]:
        """All remaining parts, full or not."""
        if self._state[_BASE_OFFSET] >= 0:
            self._cut()
        return self.parts()

    def _cut(self) -> None:
        count, base_offset = int(self._state[_ROWS]), int(self._state[_BASE_OFFSET])
        arrays = [self._array(name, count) for name in self._columns]
        rows = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        last_epoch = int(self._state[_LAST_EPOCH])
        self._parts.append(Part(base_offset, self.next_offset, last_epoch, rows))
        self._begin()

    def _begin(self) -> None:
        # Untouched pages of these buffers take no memory.
        self._numbers = np.empty((2, ROWS_MAX), np.int64)
        self._types = np.empty(ROWS_MAX, np.int32)
        self._edges = np.empty((2, ROWS_MAX + 1), np.int32)
        self._edges[:, 0] = 0
        self._flags = np.empty((2, ROWS_MAX), np.uint8)
        # Most records have no keys, and a key buffer as large as a part would not be kept for the
        # next one.
        if self._state[_KEY_BYTES]:
            self._keys = np.empty(self._part_bytes, np.uint8)
        self._values = np.empty(self._part_bytes if "value" in self._columns else 0, np.uint8)
        self._state[[_ROWS, _KEY_BYTES, _VALUE_BYTES]] = 0
        self._state[_BASE_OFFSET] = -1

    def _array(self, name: str, count: int) -> pa.Array:
        match name:
            case "key":
                return self._strings(_KEY, self._keys, count)
            case "value":
                return self._strings(_VALUE, self._values, count)
            case "offset":
                return _array(pa.int64(), self._numbers[0], count)
            case "timestamp":
                return _array(TIMESTAMP_TYPE, self._numbers[1], count)
            case _:
                return _array(pa.int32(), self._types, count)

    def _strings(self, column: int, strings: npt.NDArray[np.uint8], count: int) -> pa.Array:
        flags = self._flags[column, :count]
        absent = count - int(np.count_nonzero(flags))
        if absent == count:
            return pa.nulls(count, pa.binary())
        edges = self._edges[column, : count + 1]
        is_there = pa.py_buffer(np.packbits(flags, bitorder="little")) if absent else None
        contents = pa.py_buffer(strings[: int(edges[-1])])
        buffers = [is_there, pa.py_buffer(edges), contents]
        return pa.BinaryArray.from_buffers(pa.binary(), count, buffers, absent)


def _array(kind: pa.DataType, numbers: npt.NDArray[Any], count: int) -> pa.Array:
    return pa.Array.from_buffers(kind, count, [None, pa.py_buffer(numbers[:count])], 0)
