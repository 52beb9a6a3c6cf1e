"""The records of one answer of a broker, checked and taken apart while they arrive.

What has just been written to memory is still in a cache, where both take half as long.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from duolog.model.errors import Refusal
from pyspark_duolog.codec.decode import decode
from pyspark_duolog.codec.layout import Batches, Walk
from pyspark_duolog.codec.plain import Taking, is_taken


class Arriving:
    """Batches are taken up to the first that is not plain; from there on they are walked over."""

    def __init__(self, columns: Sequence[str], first_offset: int, end_offset: int) -> None:
        self._columns = columns
        self._first_offset = first_offset
        self._end_offset = end_offset
        self._taking = Taking(columns, first_offset, end_offset) if is_taken(columns) else None
        self._walk: Walk | None = None

    def came(self, records: memoryview, count: int) -> None:
        """So many bytes of the records are there."""
        if self._walk is None and not self._is_stuck(records, count):
            return
        # A batch that is damaged is met again when all of the answer is there.
        with suppress(Refusal):
            self._walked(records, count)

    def found(self, records: memoryview) -> Batches:
        """What was not taken of all the records. Refusal where something is damaged."""
        if self._walk is None:
            self._is_stuck(records, len(records))
        return self._walked(records, len(records)).found()

    def rows(self, records: memoryview, found: Batches) -> Iterator[pa.RecordBatch]:
        """Refusal where something is damaged."""
        at, next_offset = self._taken()
        if self._taking is not None:
            for part in self._taking.rest():
                yield part.rows
        yield from decode(
            records[at:],
            self._columns,
            found=found,
            first_offset=next_offset,
            end_offset=self._end_offset,
        )

    def _taken(self) -> tuple[int, int]:
        """How many bytes were, and up to which offset."""
        if self._taking is None:
            return 0, self._first_offset
        return self._taking.bytes_taken, self._taking.next_offset

    def _is_stuck(self, records: memoryview, count: int) -> bool:
        """Whether what comes next is not taken."""
        if self._taking is None:
            return True
        self._taking.take(records, self._taking.bytes_taken, count)
        return self._taking.is_stuck

    def _walked(self, records: memoryview, count: int) -> Walk:
        at, next_offset = self._taken()
        if self._walk is None:
            self._walk = Walk(records[at:], next_offset)
        self._walk.to(count - at)
        return self._walk
