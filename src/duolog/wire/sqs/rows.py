"""Results that are lists of similar entries, made from columns.

Messages that a turn delivers or accepts are in columns: ids, digests, bodies. The JSON answers to
all its requests are written from these in one go, by _rows.c where it could be built.
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
"""ASCII text, or bytes of UTF-8."""


class Table(NamedTuple):
    columns: tuple[Column, ...]
    counts: Sequence[int]
    """Number of rows of each result."""


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
    """Fallback for _rows.c. The quotes around a value belong to its labels."""
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
    # No compiler was present when Duolog was installed.
    json_rows = _rows_in_python


class Rows:
    """Kind of result with one member, a list of entries."""

    def __init__(self, result: type[Shape], entry: type[Shape], width: int) -> None:
        """`width` is the number of an entry's members that get values."""
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
        """The results; each takes as many of the next rows as its count says."""
        columns, sizes = zip(*map(_with_size, table.columns), strict=True)
        return json_rows(self._before, b"]}", self._labels, columns, sizes, table.counts)

    def shapes(self, table: Table) -> Iterator[Shape]:
        entries = list(map(self._entry, *(map(_text, column) for column in table.columns)))
        return (self._result(entries[part]) for part in _parts(table.counts))


def _with_size(column: Column) -> tuple[Column, int]:
    """The column with the size of its values if they are one text, else 0."""
    return (column.text, column.size) if isinstance(column, Texts) else (column, 0)


def _parts(counts: Sequence[int]) -> Iterator[slice]:
    ends = accumulate(counts)
    return (slice(end - count, end) for end, count in zip(ends, counts, strict=True))


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode()


RECEIVED = Rows(ReceiveMessageResult, Message, 4)
"""Results with ids, receipts, digests and bodies; only if there is something to receive."""
SENT = Rows(SendMessageBatchResult, SendMessageBatchResultEntry, 3)
"""Results with the ids of entries and messages, and digests."""
DELETED = Rows(DeleteMessageBatchResult, DeleteMessageBatchResultEntry, 1)
"""Results with the ids of entries."""
