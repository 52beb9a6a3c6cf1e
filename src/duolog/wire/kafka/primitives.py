"""Primitives of the wire format: variable-length integers, strings, tagged fields.

Readers take a position and return the next one. They are strict about what they read themselves and
raise IndexError or struct.error past the end of the buffer; every parser turns those into
MalformedRequest and checks once, at its end, that it did not run past the end of its frame.
"""

from struct import Struct

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka.errors import MalformedRequest

INT16 = Struct(">h")
INT32 = Struct(">i")
INT64 = Struct(">q")

NO_TAGS = b"\0"
UUID_BYTES = 16
NO_UUID = bytes(UUID_BYTES)

UVARINT_BYTES_MAX = 5
"""Limit of a varint's bytes: lengths and counts are 32-bit numbers."""

TAGS_PER_STRUCT_MAX = 32
"""Limit of tagged fields: schemas define a handful; more is an attempt to keep us busy."""

TEXTS_REMEMBERED_MAX = 4_096
TEXT_REMEMBERED_BYTES_MAX = 255

_ONE_BYTE_UVARINTS = tuple(bytes((value,)) for value in range(0x80))
_texts: dict[bytes, str] = {}


def check_count(count: int, item_bytes_min: int, bytes_left: int, items: int = 0) -> None:
    """Refuses an array that cannot fit in the rest of its frame, before anything is allocated.

    `items` is how many the arrays of this request declared so far, this one included: a frame of
    millions of tiny items would otherwise become gigabytes of objects.
    """
    if count < 0:
        raise MalformedRequest("an array is null or has a negative length")
    if count * item_bytes_min > bytes_left:
        raise MalformedRequest("an array declares more items than its frame can hold")
    if count > ARRAY_ITEMS_MAX or items > ARRAY_ITEMS_MAX:
        raise MalformedRequest("a request declares too many items")


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    value = buffer[position]
    if value < 0x80:
        return value, position + 1
    return read_long_uvarint(buffer, position + 1, value)


def read_long_uvarint(buffer: memoryview, position: int, first: int) -> tuple[int, int]:
    """Reads the rest of a number whose first byte said that more follow; hot callers inline the
    first."""
    value = first & 0x7F
    for shift in range(7, 7 * UVARINT_BYTES_MAX, 7):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise MalformedRequest("a variable-length number has more than five bytes")


def uvarint(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE_UVARINTS[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    if value < 0x20_0000:
        return bytes((value & 0x7F | 0x80, value >> 7 & 0x7F | 0x80, value >> 14))
    return bytes((value & 0x7F | 0x80,)) + uvarint(value >> 7)


def read_text(buffer: memoryview, start: int, stop: int, end: int) -> str:
    """The UTF-8 between `start` and `stop`, cached: every request repeats the same names."""
    if stop > end:
        raise MalformedRequest("a string runs past the end of its frame")
    raw = buffer[start:stop].tobytes()
    text = _texts.get(raw)
    return _decode(raw) if text is None else text


def _decode(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise MalformedRequest("a string is not UTF-8") from error
    if len(raw) <= TEXT_REMEMBERED_BYTES_MAX:
        if len(_texts) >= TEXTS_REMEMBERED_MAX:
            _texts.clear()
        _texts[raw] = text
    return text


def legacy_string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    raw = text.encode()
    return INT16.pack(len(raw)) + raw


def compact_string(text: str | None) -> bytes:
    if text is None:
        return b"\0"
    raw = text.encode()
    return uvarint(len(raw) + 1) + raw


def read_tags(buffer: memoryview, position: int, end: int) -> tuple[dict[int, memoryview], int]:
    """The tagged fields of one struct, by tag."""
    count, position = read_uvarint(buffer, position)
    if count > TAGS_PER_STRUCT_MAX:
        raise MalformedRequest("a struct has too many tagged fields")
    tags: dict[int, memoryview] = {}
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        length, position = read_uvarint(buffer, position)
        stop = position + length
        if stop > end:
            raise MalformedRequest("a tagged field runs past the end of its frame")
        tags[tag] = buffer[position:stop]
        position = stop
    return tags, position


def skip_tags(buffer: memoryview, position: int, end: int) -> int:
    if buffer[position] == 0:
        return position + 1
    return read_tags(buffer, position, end)[1]


def tagged(tag: int, data: bytes) -> bytes:
    return uvarint(tag) + uvarint(len(data)) + data


def tag_section(fields: list[bytes]) -> bytes:
    """The tagged fields at the end of a struct, each as `tagged` made it, in order of tag."""
    return uvarint(len(fields)) + b"".join(fields)
