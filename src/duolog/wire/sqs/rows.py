"""Results that are lists of things which are alike, made of columns.

What a turn hands out or takes in is there in columns: ids, digests, bodies. In JSON the answers
to all its requests are written out of these in one go, by _rows.c where it could be built.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec

from duolog.wire.sqs.messages import (
    DeleteMessageBatchResult,
    DeleteMessageBatchResultEntry,
    Message,
    ReceiveMessageResult,
    SendMessageBatchResult,
    SendMessageBatchResultEntry,
    Shape,
)
from duolog.wire.sqs.texts import Texts

Column = Sequence[str] | Sequence[bytes]
"""Text that is ASCII, or bytes of UTF-8."""


class Table(NamedTuple):
    columns: tuple[Column, ...]
    counts: Sequence[int]
    """How many rows each of the results has."""


_encode = msgspec.json.Encoder().encode


def _rows_in_python(
    before: bytes,
    behind: bytes,
    labels: tuple[bytes, ...],
    columns: tuple[Column, ...],
    sizes: tuple[int, ...],
    counts: Sequence[int],
    /,
) -> list[bytes]:
    """As _rows.c does it. The quotes around a value are its labels' already."""
    values = [
        [_encode(_text(each))[1:-1] for each in (Texts(str(column), size) if size else column)]
        for column, size in zip(columns, sizes, strict=True)
    ]
    rows = [
        b"".join([*(part for pair in zip(labels, row, strict=False) for part in pair), labels[-1]])
        for row in zip(*values, strict=True)
    ]
    return [before + b",".join(rows[part]) + behind for part in _parts(counts)]


try:
    from duolog.wire.sqs._rows import json_rows
except ImportError:
    # There was no compiler where Duolog was installed.
    json_rows = _rows_in_python


class Rows:
    """A kind of result, whose first member is a list of entries and all that it has."""

    def __init__(self, result: type[Shape], entry: type[Shape], width: int) -> None:
        """`width`: how many members of the entries there is something to say of."""
        self._result = result
        self._entry = entry
        names = entry.__struct_encode_fields__[:width]
        self._before = b'{"%b":[' % result.__struct_encode_fields__[0].encode()
        firsts = (b'{"', *(b'","',) * (width - 1))
        labels = [
            b'%b%b":"' % (first, name.encode()) for first, name in zip(firsts, names, strict=True)
        ]
        self._labels = (*labels, b'"}')

    def json(self, table: Table) -> list[bytes]:
        """The results, of which each has the next so many rows."""
        columns, sizes = zip(*map(_with_size, table.columns), strict=True)
        return json_rows(self._before, b"]}", self._labels, columns, sizes, table.counts)

    def shapes(self, table: Table) -> Iterator[Shape]:
        entries = list(map(self._entry, *(map(_text, column) for column in table.columns)))
        return (self._result(entries[part]) for part in _parts(table.counts))


def _with_size(column: Column) -> tuple[Column, int]:
    """The size is that of its values, if it is one text."""
    return (column.text, column.size) if isinstance(column, Texts) else (column, 0)


def _parts(counts: Sequence[int]) -> Iterator[slice]:
    ends = accumulate(counts)
    return (slice(end - count, end) for end, count in zip(ends, counts, strict=True))


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


RECEIVED = Rows(ReceiveMessageResult, Message, 4)
"""Of ids, receipts, digests and bodies; only where there is something to receive."""
SENT = Rows(SendMessageBatchResult, SendMessageBatchResultEntry, 3)
"""Of entries' ids, messages' ids and digests."""
DELETED = Rows(DeleteMessageBatchResult, DeleteMessageBatchResultEntry, 1)
"""Of entries' ids."""
