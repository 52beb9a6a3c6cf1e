"""Describes kio's schemas for our own encoder and decoder.

kio's native reader trusts the counts that it reads and aborts the process when one of them is too
large to allocate, so bytes from a client never reach it: only its schemas are used. A schema module
takes milliseconds to import and is loaded on first use of its version.
"""

from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin

from duolog.wire.kafka.apis import APIS

Kind = Literal["request", "response"]


class SchemaField(NamedTuple):
    name: str
    type: str
    """kio's name of a primitive type, or "" for a struct."""
    struct: Any
    """kio's class of a struct, or None for a primitive."""
    is_array: bool
    is_nullable: bool
    tag: int | None
    default: Any
    """Value of a field that was left out."""


def preload() -> None:
    """Imports what all schemas share. It is slow, so better now than while a client waits."""
    import_module("kio.static.primitive")


@cache
def entity(api_key: int, version: int, kind: Kind) -> Any:
    """The kio class of a request or response."""
    assert APIS[api_key].serves(version), "the caller checks the version first"
    name = APIS[api_key].name
    module = import_module(f"kio.schema.{name}.v{version}.{kind}")
    return getattr(module, name.title().replace("_", "") + kind.title())


@cache
def describe(struct: Any) -> tuple[SchemaField, ...]:
    """The fields of a kio class, in the order in which they are written."""
    return tuple(
        _describe(field.name, field.type, field.metadata, field.default) for field in fields(struct)
    )


def _describe(name: str, declared: Any, metadata: Any, default: Any) -> SchemaField:
    is_nullable = get_origin(declared) is UnionType
    if is_nullable:
        (declared,) = (part for part in get_args(declared) if part is not NoneType)
    is_array = get_origin(declared) is tuple
    if is_array:
        declared = get_args(declared)[0]
    kafka_type = metadata.get("kafka_type", "")
    struct = None if kafka_type else declared
    if default is MISSING or struct is not None:
        default = None if is_nullable else empty(kafka_type, is_array)
    return SchemaField(
        name, kafka_type, struct, is_array, is_nullable, metadata.get("tag"), default
    )


def empty(kafka_type: str, is_array: bool) -> Any:
    """The empty value of a type that has no null."""
    if is_array:
        return ()
    return {"": {}, "string": "", "bytes": b"", "records": b"", "uuid": None}.get(kafka_type, 0)


def field_names(api_key: int, version: int, kind: Kind, path: tuple[str, ...]) -> frozenset[str]:
    """Fields of the struct at `path`; none if this version has no such struct."""
    struct = entity(api_key, version, kind)
    for step in path:
        struct = next((field.struct for field in describe(struct) if field.name == step), None)
        if struct is None:
            return frozenset()
    return frozenset(field.name for field in describe(struct))
