"""Snapshot of the delivery state, and its encoding.

Numbers lie in columns of machine integers, so that a hundred thousand messages in flight are
written within milliseconds. Equal states have equal images.
"""

import sys
from array import array
from collections.abc import Sequence
from operator import lt
from struct import Struct
from zlib import crc32

import msgspec

_VERSION = 1
_HEAD = Struct(">BI")


class Image(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Content of a snapshot. Each `bytes` is a column; each part of the machine writes its own."""

    fifo: bool
    end_offset: int
    now_ms: int
    fresh: bytes = b""
    """First and next offset of each range; in a standard queue, of messages without a group."""
    returned: bytes = b""
    returned_next: bool = False
    delayed: bytes = b""
    """Due time, first and next offset of each range."""
    has_groups: bool = False
    """True for a standard queue that has seen a message with a group."""
    fresh_grouped: bytes = b""
    delayed_groups: list[tuple[int, bytes]] = []
    lane_groups: list[bytes] = []
    lane_lengths: bytes = b""
    lane_offsets: bytes = b""
    lane_sent_ms: bytes = b""
    fairness: bytes = b""
    """Processing time of the queue; then of each lane: noisy mark, last time of sending, processing
    time."""
    held_offsets: bytes = b""
    held_deadlines_ms: bytes = b""
    held_counts: bytes = b""
    held_first_received_ms: bytes = b""
    held_received_ms: bytes = b""
    held_states: bytes = b""
    held_groups: list[bytes | None] = []
    attempts: list[tuple[bytes, int, tuple[int, ...]]] = []
    sent_offsets: bytes = b""
    sent_seconds: bytes = b""
    replays: list[tuple[int, int]] = []


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Image).decode


def encode_image(image: Image) -> bytes:
    body = _encode(image)
    return _HEAD.pack(_VERSION, crc32(body)) + body


def decode_image(data: bytes) -> Image:
    """Decodes a snapshot; raises ValueError if it is damaged, or of an unknown version."""
    if len(data) < _HEAD.size:
        raise ValueError("a snapshot that is cut short")
    version, checksum = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise ValueError(f"a snapshot of version {version}")
    body = memoryview(data)[_HEAD.size :]
    if crc32(body) != checksum:
        raise ValueError("a snapshot that is damaged")
    return _decode(body)


def undone_ranges(image: Image) -> list[tuple[int, int]]:
    """Messages that were not done, as ranges of offsets in any order."""
    fresh = (*from_column(image.fresh), *from_column(image.fresh_grouped))
    delayed = from_column(image.delayed)
    return [
        *zip(fresh[::2], fresh[1::2], strict=True),
        *zip(delayed[1::3], delayed[2::3], strict=True),
        *((offset, offset + 1) for offset in from_column(image.held_offsets)),
    ]


def to_column(numbers: "array[int]") -> bytes:
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()


def from_column(column: bytes) -> "array[int]":
    """Decodes a column; raises ValueError if its length is not a multiple of eight."""
    numbers = array("q")
    numbers.frombytes(column)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def is_ascending(numbers: Sequence[int]) -> bool:
    """True if the numbers strictly ascend."""
    return all(map(lt, numbers, numbers[1:]))
