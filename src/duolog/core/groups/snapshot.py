"""Snapshot of a partition's newest records, so that the next leader need not read them one by one.

Frames of msgpack, each behind its length: a head, then pieces of rows. Whoever stores the bytes
protects them by a checksum. A row has room for the id of the topic that its record is about.
"""

from collections.abc import Generator
from struct import Struct

import msgspec

from duolog.core.groups.newest_records import NewestRecords

VERSION = 1
PIECE_ROWS = 256
"""Rows in a piece; encoding or decoding one takes about 0.1 ms."""
NO_TOPIC_ID = b""

_LENGTH = Struct(">I")


class UnusableSnapshot(Exception):
    """A snapshot of another version, or one that does not hold what it announces."""


class _Version(msgspec.Struct, array_like=True, frozen=True):
    """The part of the head that every version has."""

    version: int


class _Head(msgspec.Struct, array_like=True, frozen=True):
    version: int
    start_offset: int
    offset: int
    epoch: int
    rows: int


class _Row(msgspec.Struct, array_like=True, frozen=True):
    key: bytes
    value: bytes
    topic_id: bytes = NO_TOPIC_ID
    """Empty while commits name their topic by its name alone."""


_encode = msgspec.msgpack.Encoder().encode
_decode_version = msgspec.msgpack.Decoder(_Version).decode
_decode_head = msgspec.msgpack.Decoder(_Head).decode
_decode_rows = msgspec.msgpack.Decoder(list[_Row]).decode


def encode_snapshot(newest: NewestRecords) -> Generator[None, None, bytes]:
    """Encodes, step by step, the records as they are at the call."""
    rows = list(newest.values.items())
    return _encoding(
        _Head(VERSION, newest.start_offset, newest.offset, newest.epoch, len(rows)), rows
    )


def _encoding(head: _Head, rows: list[tuple[bytes, bytes]]) -> Generator[None, None, bytes]:
    frames = [_framed(_encode(head))]
    for first in range(0, len(rows), PIECE_ROWS):
        yield
        piece = [(key, value, NO_TOPIC_ID) for key, value in rows[first : first + PIECE_ROWS]]
        frames.append(_framed(_encode(piece)))
    return b"".join(frames)


def decode_snapshot(data: bytes) -> Generator[None, None, NewestRecords]:
    """Raises UnusableSnapshot."""
    frames = _frames(data)
    try:
        first = next(frames, b"")
        version = _decode_version(first).version
        if version != VERSION:
            raise UnusableSnapshot(f"version {version}")
        head = _decode_head(first)
        newest = NewestRecords(head.start_offset)
        newest.skip_to(head.offset, head.epoch)
        newest.dense_from = head.offset
        for frame in frames:
            yield
            newest.values.update((row.key, row.value) for row in _decode_rows(frame))
    except msgspec.DecodeError as error:
        raise UnusableSnapshot(str(error)) from error
    if len(newest.values) != head.rows:
        raise UnusableSnapshot(f"{len(newest.values)} of {head.rows} records")
    newest.content_bytes = len(data)
    return newest


def _framed(frame: bytes) -> bytes:
    return _LENGTH.pack(len(frame)) + frame


def _frames(data: bytes) -> Generator[memoryview, None, None]:
    view, at = memoryview(data), 0
    while at < len(view):
        if len(view) - at < _LENGTH.size:
            raise UnusableSnapshot("it ends inside a length")
        (length,) = _LENGTH.unpack_from(view, at)
        at += _LENGTH.size
        if length > len(view) - at:
            raise UnusableSnapshot("it ends inside a frame")
        yield view[at : at + length]
        at += length
