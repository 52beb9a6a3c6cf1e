"""Checks and decodes the records of one Fetch response while they arrive.

Bytes just received are still in a cache, where both take half as long.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress

import pyarrow as pa

from duolog.model.errors import Refusal
from pyspark_duolog.codec.decode import decode
from pyspark_duolog.codec.layout import Batches, Walk
from pyspark_duolog.codec.plain import Taking, is_taken


class Arriving:
    """Takes batches up to the first that is not plain; walks over the others."""

    def __init__(self, columns: Sequence[str], first_offset: int, end_offset: int) -> None:
        self._columns = columns
        self._first_offset = first_offset
        self._end_offset = end_offset
        self._taking = Taking(columns, first_offset, end_offset) if is_taken(columns) else None
        self._walk: Walk | None = None

    def came(self, records: memoryview, count: int) -> None:
        """Process the first `count` bytes of the records, which have arrived."""
        if self._walk is None and not self._is_stuck(records, count):
            return
        # A damaged batch is met again, and reported, once the whole response is there.
        with suppress(Refusal):
            self._walked(records, count)

    def found(self, records: memoryview) -> Batches:
        """Batches of the complete records that were not taken. Refusal if one is damaged."""
        if self._walk is None:
            self._is_stuck(records, len(records))
        return self._walked(records, len(records)).found()

    def rows(self, records: memoryview, found: Batches) -> Iterator[pa.RecordBatch]:
        """All rows, taken and decoded. Refusal if a batch is damaged."""
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
        """Number of bytes taken, and the next offset."""
        if self._taking is None:
            return 0, self._first_offset
        return self._taking.bytes_taken, self._taking.next_offset

    def _is_stuck(self, records: memoryview, count: int) -> bool:
        """True if the next batch cannot be taken."""
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
