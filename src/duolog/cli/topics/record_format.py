r"""Formats records by a template in kcat's letters: `%p %o %k %s\n`."""

import re
from collections.abc import Callable

from duolog.cli.failures import ExitCode, Failure
from duolog.records.record import Record

Render = Callable[[str, int, Record], bytes]
"""Formats a record of a topic and partition."""

_FIELDS: dict[str, Render] = {
    "t": lambda topic, partition, record: topic.encode(),
    "p": lambda topic, partition, record: b"%d" % partition,
    "o": lambda topic, partition, record: b"%d" % (record.offset or 0),
    "k": lambda topic, partition, record: record.key or b"",
    "s": lambda topic, partition, record: record.value or b"",
    "S": lambda topic, partition, record: _size(record.value),
    "K": lambda topic, partition, record: _size(record.key),
    "T": lambda topic, partition, record: b"%d" % record.timestamp,
    "h": lambda topic, partition, record: _headers(record),
    "%": lambda topic, partition, record: b"%",
}
_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "\\": b"\\", "0": b"\0"}
_PIECE = re.compile(
    r"%(?P<field>.?)|\\x(?P<hex>[0-9a-fA-F]{2})|\\(?P<escape>.?)|[^%\\]+", re.DOTALL
)


def compile_format(text: str) -> Render:
    pieces: list[bytes | Render] = []
    for matched in _PIECE.finditer(text):
        if matched["field"] is not None:
            if matched["field"] not in _FIELDS:
                raise _unknown(matched[0], ", ".join(f"%{each}" for each in _FIELDS))
            pieces.append(_FIELDS[matched["field"]])
        elif matched["hex"] is not None:
            pieces.append(bytes.fromhex(matched["hex"]))
        elif matched["escape"] is not None:
            if matched["escape"] not in _ESCAPES:
                raise _unknown(matched[0], r"\n, \t, \r, \\, \0, \xNN")
            pieces.append(_ESCAPES[matched["escape"]])
        else:
            pieces.append(matched[0].encode())

    def render(topic: str, partition: int, record: Record) -> bytes:
        return b"".join(
            piece if isinstance(piece, bytes) else piece(topic, partition, record)
            for piece in pieces
        )

    return render


def _unknown(what: str, known: str) -> Failure:
    return Failure(f"The format has '{what}', which means nothing. Use {known}.", ExitCode.USAGE)


def _size(content: bytes | None) -> bytes:
    """Size of the content; -1 if it is absent, as in kcat."""
    return b"-1" if content is None else b"%d" % len(content)


def _headers(record: Record) -> bytes:
    return b",".join(name.encode() + b"=" + (value or b"") for name, value in record.headers)
