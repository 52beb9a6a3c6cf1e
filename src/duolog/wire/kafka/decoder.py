"""Decodes a message into kio's class for it, from its schema.

Bounded: every length or count is compared with the bytes left before it is used. A decoder is
compiled once per version: a chain of closures that read one field each.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from struct import Struct
from typing import Any
from uuid import UUID

from duolog.wire.kafka.errors import MalformedMessage
from duolog.wire.kafka.primitives import (
    INT16,
    INT32,
    INT64,
    NO_UUID,
    TAGS_PER_STRUCT_MAX,
    UUID_BYTES,
    read_uvarint,
)
from duolog.wire.kafka.schema import SchemaField, describe

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BOOL = Struct(">?")
_INT8 = Struct(">b")


class Bounds:
    """End of one message, and the number of items that its arrays may still declare."""

    __slots__ = ("end", "items_left")

    def __init__(self, end: int, items_left: int) -> None:
        self.end = end
        self.items_left = items_left


Read = Callable[[memoryview, int, Bounds], tuple[Any, int]]


@cache
def decoder(struct: Any) -> Read:
    """Decoder of one struct. Past the end it raises struct.error, IndexError or
    MalformedMessage."""
    compact: bool = struct.__flexible__
    described = describe(struct)
    readers = [(field.name, _field(field, compact)) for field in described if field.tag is None]
    tagged_readers = {
        field.tag: (field.name, _field(field, compact))
        for field in described
        if field.tag is not None
    }

    def decode(buffer: memoryview, position: int, bounds: Bounds) -> tuple[Any, int]:
        values = {}
        for name, read in readers:
            values[name], position = read(buffer, position, bounds)
        if compact:
            position = _read_tags(buffer, position, bounds, tagged_readers, values)
        return struct(**values), position

    return decode


def _read_tags(
    buffer: memoryview,
    position: int,
    bounds: Bounds,
    readers: dict[int, tuple[str, Read]],
    values: dict[str, Any],
) -> int:
    count, position = read_uvarint(buffer, position)
    if count > TAGS_PER_STRUCT_MAX:
        raise MalformedMessage("a struct has too many tagged fields")
    for _ in range(count):
        tag, position = read_uvarint(buffer, position)
        length, position = read_uvarint(buffer, position)
        stop = position + length
        if stop > bounds.end:
            raise MalformedMessage("a tagged field runs past the end of its message")
        if tag in readers:
            name, read = readers[tag]
            values[name], position = read(buffer, position, bounds)
            if position != stop:
                raise MalformedMessage("a tagged field does not fill its length")
        position = stop
    return position


def _field(field: SchemaField, compact: bool) -> Read:
    if field.struct is not None:
        read = decoder(field.struct)
        if field.is_nullable and not field.is_array:
            return _nullable_struct(read)
    elif field.type in ("string", "bytes", "records"):
        is_nullable = field.is_nullable and not field.is_array
        read = _sized(field.type == "string", compact, is_nullable)
    else:
        read = _FIXED[field.type]
    if field.is_array:
        return _array(read, compact, field.is_nullable, _bytes_min(field, compact))
    return read


def _bytes_min(field: SchemaField, compact: bool) -> int:
    """The fewest bytes that one item of this field can take."""
    if field.struct is not None:
        inner: bool = field.struct.__flexible__
        sizes = (
            (1 if inner else 4) if part.is_array else _bytes_min(part, inner)
            for part in describe(field.struct)
            if part.tag is None
        )
        return sum(sizes) + inner
    if field.type == "string":
        return 1 if compact else 2
    if field.type in ("bytes", "records"):
        return 1 if compact else 4
    return _LAYOUTS[field.type][0].size


def _nullable_struct(read: Read) -> Read:
    def decode(buffer: memoryview, position: int, bounds: Bounds) -> tuple[Any, int]:
        (marker,) = _INT8.unpack_from(buffer, position)
        return (None, position + 1) if marker < 0 else read(buffer, position + 1, bounds)

    return decode


def _array(read: Read, compact: bool, is_nullable: bool, item_bytes_min: int) -> Read:
    def decode(buffer: memoryview, position: int, bounds: Bounds) -> tuple[Any, int]:
        count, position = _length(buffer, position, compact, INT32)
        if count == -1 and is_nullable:
            return None, position
        if not 0 <= count * item_bytes_min <= bounds.end - position:
            raise MalformedMessage("an array declares more items than its message can hold")
        bounds.items_left -= count
        if bounds.items_left < 0:
            raise MalformedMessage("a message declares too many items")
        items = []
        for _ in range(count):
            item, position = read(buffer, position, bounds)
            items.append(item)
        return tuple(items), position

    return decode


def _sized(is_text: bool, compact: bool, is_nullable: bool) -> Read:
    length_struct = INT16 if is_text else INT32

    def decode(buffer: memoryview, position: int, bounds: Bounds) -> tuple[Any, int]:
        length, position = _length(buffer, position, compact, length_struct)
        if length < 0:
            if length == -1 and is_nullable:
                return None, position
            raise MalformedMessage("a string is null or has a negative length")
        stop = position + length
        if stop > bounds.end:
            raise MalformedMessage("a string runs past the end of its message")
        raw = buffer[position:stop].tobytes()
        return raw.decode() if is_text else raw, stop

    return decode


def _length(buffer: memoryview, position: int, compact: bool, legacy: Struct) -> tuple[int, int]:
    """A length or count; -1 for null."""
    if compact:
        length, position = read_uvarint(buffer, position)
        return length - 1, position
    return legacy.unpack_from(buffer, position)[0], position + legacy.size


def _fixed(layout: Struct, convert: Callable[[Any], Any] | None = None) -> Read:
    size = layout.size

    def decode(buffer: memoryview, position: int, bounds: Bounds) -> tuple[Any, int]:
        return layout.unpack_from(buffer, position)[0], position + size

    def decode_and_convert(buffer: memoryview, position: int, bounds: Bounds) -> tuple[Any, int]:
        assert convert is not None
        return convert(layout.unpack_from(buffer, position)[0]), position + size

    return decode if convert is None else decode_and_convert


def _error_code(code: int) -> Any:
    # Imported here, because a broker that only reads requests never needs kio's table of errors.
    from kio.schema.errors import ErrorCode

    return ErrorCode(code)


def _duration(value_ms: int) -> timedelta:
    return timedelta(milliseconds=value_ms)


def _instant(value_ms: int) -> datetime | None:
    return None if value_ms == -1 else _EPOCH + timedelta(milliseconds=value_ms)


def _uuid(raw: bytes) -> UUID | None:
    return None if raw == NO_UUID else UUID(bytes=raw)


_LAYOUTS: dict[str, tuple[Struct, Callable[[Any], Any] | None]] = {
    "bool": (_BOOL, None),
    "int8": (_INT8, None),
    "int16": (INT16, None),
    "int32": (INT32, None),
    "int64": (INT64, None),
    "error_code": (INT16, _error_code),
    "timedelta_i32": (INT32, _duration),
    "timedelta_i64": (INT64, _duration),
    "datetime_i64": (INT64, _instant),
    "uuid": (Struct(f">{UUID_BYTES}s"), _uuid),
}
_FIXED = {kafka_type: _fixed(layout, convert) for kafka_type, (layout, convert) in _LAYOUTS.items()}
