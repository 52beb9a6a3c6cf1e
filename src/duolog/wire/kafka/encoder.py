"""Encodes a message from plain values, by its schema.

An encoder is compiled once per version: a chain of closures that write one field each.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from struct import Struct
from typing import Any
from uuid import UUID

from duolog.wire.kafka.apis import APIS
from duolog.wire.kafka.primitives import (
    INT16,
    INT32,
    INT64,
    NO_UUID,
    compact_string,
    legacy_string,
    tag_section,
    tagged,
    uvarint,
)
from duolog.wire.kafka.schema import Kind, SchemaField, describe, empty, entity, field_names

Write = Callable[[Any], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
NO_TIME_MS = -1


def to_ms(value: timedelta | datetime | int | None) -> int:
    """Milliseconds of a duration, or since 1970 of a point in time; -1, as on the wire, for
    None."""
    if isinstance(value, timedelta):
        return value // _MILLISECOND
    if isinstance(value, datetime):
        return (value - _EPOCH) // _MILLISECOND
    return NO_TIME_MS if value is None else value


@cache
def encoder(api_key: int, version: int, kind: Kind) -> Write:
    return _struct(api_key, kind, entity(api_key, version, kind), ())


def _struct(api_key: int, kind: Kind, struct: Any, path: tuple[str, ...]) -> Write:
    compact: bool = struct.__flexible__
    described = describe(struct)
    writers = [
        (field.name, field.default, _field(api_key, kind, field, compact, path))
        for field in described
        if field.tag is None
    ]
    tagged_writers = sorted(
        (field.tag, field.name, field.default, write, write(field.default))
        for field in described
        if field.tag is not None
        for write in (_field(api_key, kind, field, compact, path),)
    )
    accepted = {field.name for field in described}

    def encode(values: Mapping[str, Any]) -> bytes:
        if not accepted.issuperset(values):
            _accept(api_key, kind, path, accepted, values)
        parts = [write(values.get(name, default)) for name, default, write in writers]
        if compact:
            tags = []
            for tag, name, default, write, encoded_default in tagged_writers:
                encoded = write(values.get(name, default))
                if encoded != encoded_default:
                    tags.append(tagged(tag, encoded))
            parts.append(tag_section(tags))
        return b"".join(parts)

    return encode


def _accept(
    api_key: int, kind: Kind, path: tuple[str, ...], accepted: set[str], values: Mapping[str, Any]
) -> None:
    """Adds names of other versions, newest first; a name in none of them is a bug."""
    api = APIS[api_key]
    for version in range(api.max_version, api.min_version - 1, -1):
        accepted |= field_names(api_key, version, kind, path)
        if accepted.issuperset(values):
            return
    where = ".".join((api.name, kind, *path))
    raise AssertionError(f"{where} has no field {sorted(values.keys() - accepted)}")


def _field(
    api_key: int, kind: Kind, field: SchemaField, compact: bool, path: tuple[str, ...]
) -> Write:
    if field.struct is not None:
        write = _struct(api_key, kind, field.struct, (*path, field.name))
        if field.is_nullable and not field.is_array:
            return _nullable_struct(write)
    else:
        write = _primitive(field.type, compact)
    if field.is_array:
        write = _array(write, compact)
    if field.is_nullable:
        return write
    return _never_null(write, empty(field.type, field.is_array))


def _never_null(write: Write, instead: Any) -> Write:
    """Encoder that replaces null.

    Some fields became nullable in a later version; a handler answers all versions alike.
    """

    def encode(value: Any) -> bytes:
        return write(instead if value is None else value)

    return encode


def _nullable_struct(write: Write) -> Write:
    def encode(value: Any) -> bytes:
        return b"\xff" if value is None else b"\1" + write(value)

    return encode


def _array(write: Write, compact: bool) -> Write:
    def encode_compact(items: Any) -> bytes:
        if items is None:
            return b"\0"
        return uvarint(len(items) + 1) + b"".join(map(write, items))

    def encode_legacy(items: Any) -> bytes:
        if items is None:
            return b"\xff\xff\xff\xff"
        return INT32.pack(len(items)) + b"".join(map(write, items))

    return encode_compact if compact else encode_legacy


def _primitive(kafka_type: str, compact: bool) -> Write:
    match kafka_type:
        case "string":
            return compact_string if compact else legacy_string
        case "bytes" | "records":
            return _compact_bytes if compact else _legacy_bytes
        case _:
            return _FIXED[kafka_type]


def _compact_bytes(value: bytes | None) -> bytes:
    return b"\0" if value is None else uvarint(len(value) + 1) + value


def _legacy_bytes(value: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if value is None else INT32.pack(len(value)) + value


def _uuid(value: UUID | None) -> bytes:
    return NO_UUID if value is None else value.bytes


_FIXED: dict[str, Write] = {
    "bool": Struct(">?").pack,
    "int8": Struct(">b").pack,
    "int16": INT16.pack,
    "int32": INT32.pack,
    "int64": INT64.pack,
    "error_code": INT16.pack,
    "timedelta_i32": lambda value: INT32.pack(to_ms(value)),
    "timedelta_i64": lambda value: INT64.pack(to_ms(value)),
    "datetime_i64": lambda value: INT64.pack(to_ms(value)),
    "uuid": _uuid,
}
