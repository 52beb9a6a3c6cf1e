"""Layout of the API's structures in the Query protocol, derived once from the structs.

Lists and maps are flattened: `AttributeNames` is sent as `AttributeName.1`, `AttributeName.2` and
answered as repeated elements; a map is a list of pairs. The names of the elements follow the rules
below, save for the exceptions that the API has.
"""

import types
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec

from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.messages.shape import Integer, Long


class Kind(Enum):
    TEXT = auto()
    INTEGER = auto()
    LONG = auto()
    BOOLEAN = auto()
    BLOB = auto()
    STRUCTURE = auto()
    LIST = auto()
    MAP = auto()


class Layout(NamedTuple):
    """Layout of one type: of a member, a list's elements, or a map's values."""

    kind: Kind
    shape: type[Shape] | None = None
    """Struct of a structure; None for other kinds."""
    element: "Layout | None" = None
    """Layout of a list's elements or a map's values; None for other kinds."""


class Member(NamedTuple):
    field: str
    wire_name: str
    """Name in JSON."""
    query_name: str
    """Name in Query, without the index of a list or map."""
    key_name: str
    """Name of the key in a map's pair; the value's is always Value."""
    layout: Layout
    required: bool


_SCALARS: dict[Any, Kind] = {
    str: Kind.TEXT,
    Integer: Kind.INTEGER,
    Long: Kind.LONG,
    bool: Kind.BOOLEAN,
    bytes: Kind.BLOB,
}

_IRREGULAR = {"Actions": "ActionName", "queueUrls": "QueueUrl"}


@cache
def members_of(shape: type[Shape]) -> tuple[Member, ...]:
    return tuple(_member(field) for field in msgspec.structs.fields(shape))


def _member(field: msgspec.structs.FieldInfo) -> Member:
    layout = _layout(field.type)
    wire_name = field.encode_name
    query_name = _query_name(wire_name, layout)
    key_name = "Key" if query_name == "Tag" else "Name"
    return Member(field.name, wire_name, query_name, key_name, layout, field.required)


def _layout(given: Any) -> Layout:
    if given in _SCALARS:
        return Layout(_SCALARS[given])
    origin, arguments = get_origin(given), get_args(given)
    if origin in (Union, types.UnionType):
        (present,) = (each for each in arguments if each is not types.NoneType)
        return _layout(present)
    if origin is list:
        return Layout(Kind.LIST, element=_layout(arguments[0]))
    if origin is dict:
        return Layout(Kind.MAP, element=_layout(arguments[1]))
    assert issubclass(given, Shape), f"{given} has no place in the Query protocol"
    return Layout(Kind.STRUCTURE, given)


def _query_name(wire_name: str, layout: Layout) -> str:
    if layout.kind is Kind.LIST:
        assert layout.element is not None
        if layout.element.shape is not None:
            return layout.element.shape.__name__
        return _IRREGULAR.get(wire_name) or wire_name.removesuffix("s")
    if layout.kind is Kind.MAP:
        return wire_name[0].upper() + wire_name[1:].removesuffix("s")
    return wire_name
