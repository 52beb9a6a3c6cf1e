"""Frames between nodes.

u32 length of the rest | u64 correlation | u16 kind | u16 status | body. An answer has the
correlation and the kind of its request.
"""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from duolog.ports.transport import Chunk, FileRange

OK = 0
REFUSED = 1
"""Status of an answer whose body is a refusal (refusals.py)."""

SIZE_BYTES = 4
HEADER_BYTES = 16
"""Bytes of the header, the size included."""
FRAME_BYTES_MAX = 128 << 20
"""Limit of one frame. An answer with records is as large as the asker allowed; this is above every
bound that one can ask for."""
BODY_BYTES_MAX = FRAME_BYTES_MAX - HEADER_BYTES
IN_FLIGHT_MAX = 16_384
"""Limit of unanswered requests on one connection: a long poll counts for as long as it lasts, and
must not hold up later requests."""
JOINED_BYTES_MAX = 16 * 1024
"""Size up to which a body is copied behind its header: that is cheaper than another buffer."""

_HEADER = Struct(">IQHH")


class MalformedFrame(Exception):
    """Bytes that are not a frame; only closing the connection is safe."""


class Frame(NamedTuple):
    correlation: int
    kind: int
    status: int
    body: memoryview
    """Body in memory of its own, which nothing overwrites."""


def encode_frame(correlation: int, kind: int, body: bytes = b"", *, status: int = OK) -> bytes:
    return _header(correlation, kind, status, len(body)) + body


def frame_chunks(correlation: int, kind: int, body: bytes | Sequence[Chunk]) -> list[Chunk]:
    """A frame to be written, without copying large parts. Raises ValueError if it is too large."""
    if isinstance(body, bytes):
        if len(body) <= JOINED_BYTES_MAX:
            return [encode_frame(correlation, kind, body)]
        return [_header(correlation, kind, OK, len(body)), body]
    size = sum(each.length if isinstance(each, FileRange) else len(each) for each in body)
    return [_header(correlation, kind, OK, size), *body]


def parse_header(data: bytes | bytearray | memoryview, position: int) -> tuple[int, int, int, int]:
    """Size of the body, correlation, kind and status."""
    size, correlation, kind, status = _HEADER.unpack_from(data, position)
    return size - (HEADER_BYTES - SIZE_BYTES), correlation, kind, status


def _header(correlation: int, kind: int, status: int, body_bytes: int) -> bytes:
    if body_bytes > BODY_BYTES_MAX:
        raise ValueError(f"a body of {body_bytes} bytes is larger than {BODY_BYTES_MAX}")
    rest = HEADER_BYTES - SIZE_BYTES + body_bytes
    return _HEADER.pack(rest, correlation, kind, status)
