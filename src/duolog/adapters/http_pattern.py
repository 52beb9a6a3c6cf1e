"""Recognises requests that look like an earlier one. No IO.

The heads of a client's requests differ in a few values only. A head that the parser has accepted is
cut at these values. Another one with the same pieces, and values that differ only in letters and
digits, would be accepted for the same reasons: it skips the parser, which takes four times as long.
"""

from collections.abc import Mapping, Sequence
from struct import Struct
from struct import error as StructError

from duolog.ports.http import Memo, Request

PATTERNS_MAX = 1_024
"""Limit of patterns for all connections together. Beyond it all are forgotten, and learned
again."""
HEAD_BYTES_MAX = 4_096
"""Limit of a pattern's head, which bounds the memory of all patterns."""

_LENGTH = b"content-length"
_CHANGING = frozenset(
    (
        _LENGTH,
        b"amz-sdk-invocation-id",
        b"authorization",
        b"traceparent",
        b"x-amz-date",
        b"x-amzn-trace-id",
    )
)
_UNUSUAL = frozenset((b"expect", b"transfer-encoding", b"upgrade"))
"""Headers that change connection handling; such requests are never templated."""
_TO_SHAPE = bytes(ord("x") if bytes((each,)).isalnum() else each for each in range(256))


class HeadPattern:
    """Pattern of heads of the same length, with the same pieces at the same places."""

    __slots__ = (
        "_example",
        "_fields",
        "_head_bytes",
        "_length_at",
        "_pieces",
        "_shape",
        "_unpack",
    )

    def __init__(
        self,
        pieces: tuple[bytes, ...],
        values: Sequence[bytes],
        fields: Mapping[bytes, bytes],
        like: Request,
    ) -> None:
        """`pieces` surround the changing `values`; `fields` maps each value's header to its fixed
        start."""
        layout = [len(pieces[0])]
        for value, piece in zip(values, pieces[1:], strict=True):
            layout += (len(value), len(piece))
        self._unpack = Struct("".join(f"{length}s" for length in layout)).unpack_from
        self._head_bytes = sum(layout)
        self._pieces = pieces
        self._fields = fields
        self._length_at = tuple(fields).index(_LENGTH)
        self._shape = b"".join(values).translate(_TO_SHAPE)
        self._example = like

    def body_of(self, data: bytes) -> bytes | None:
        """Body of a request that matches and is all of the data; else None."""
        try:
            parts = self._unpack(data)
        except StructError:
            return None
        if parts[::2] != self._pieces:
            return None
        values = parts[1::2]
        if b"".join(values).translate(_TO_SHAPE) != self._shape:
            return None
        body = data[self._head_bytes :]
        return body if values[self._length_at] == b"%d" % len(body) else None

    def request(self, data: bytes, body: bytes, peer: str, memo: Memo) -> Request:
        """The request in data that matches, with this body."""
        example = self._example
        headers = example.headers.copy()
        values = self._unpack(data)[1::2]
        for (name, start), value in zip(self._fields.items(), values, strict=True):
            headers[name] = start + value
        return Request(example.method, example.path, example.query, headers, body, peer, memo)


class HeadPatterns:
    """Patterns shared by the connections of a server, since most of its clients are alike."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], HeadPattern] = {}

    def of(self, request: Request, data: bytes) -> HeadPattern | None:
        """The pattern of a request that the parser has read from the data; None if it is
        unusual."""
        headers = request.headers
        head = data[: len(data) - len(request.body)]
        lines = head.split(b"\r\n")
        # As many lines as headers: no header is repeated or continued on a second line.
        is_usual = len(lines) == len(headers) + 3 and head.endswith(b"\r\n\r\n")
        if (
            request.method == "HEAD"
            or not is_usual
            or len(head) > HEAD_BYTES_MAX
            or not _UNUSUAL.isdisjoint(headers)
        ):
            return None
        pieces: list[bytes] = []
        values: list[bytes] = []
        fields: dict[bytes, bytes] = {}
        piece = lines[0]
        for line in lines[1:-2]:
            piece += b"\r\n" + line
            name = line.partition(b":")[0].lower()
            # In an Authorization header, only the signature at the end changes.
            start, sign, value = headers[name].rpartition(b"=")
            if name in _CHANGING and line.endswith(value):
                pieces.append(piece[: len(piece) - len(value)])
                values.append(value)
                fields[name] = start + sign
                piece = b""
        if _LENGTH not in fields:
            return None
        pieces.append(piece + b"\r\n\r\n")
        key = (*pieces, *(value.translate(_TO_SHAPE) for value in values))
        pattern = self._known.get(key)
        if pattern is None:
            if len(self._known) >= PATTERNS_MAX:
                self._known.clear()
            like = Request(request.method, request.path, request.query, headers, b"", "")
            pattern = HeadPattern(tuple(pieces), values, fields, like)
            self._known[key] = pattern
        return pattern
