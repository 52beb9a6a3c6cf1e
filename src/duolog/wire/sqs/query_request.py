"""Requests of the Query protocol: from a form to the structs that JSON is decoded into."""

import binascii
import re
from typing import Any

from duolog.model.queue_errors import InvalidParameterValue, MissingParameter
from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.query_form import Node
from duolog.wire.sqs.query_layout import Kind, Layout, Member, members_of

_DIGITS = re.compile(r"[+-]?[0-9]{1,19}")
_BITS = {Kind.INTEGER: 31, Kind.LONG: 63}
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


def read_structure(shape: type[Shape], node: Node, path: str = "") -> Shape:
    """Reads a structure; `path` is its place in the request, with a dot at the end."""
    values: dict[str, Any] = {}
    for member in members_of(shape):
        value = _read_member(member, node, path)
        if value is not None:
            values[member.field] = value
        elif member.required:
            raise _missing(path + member.query_name)
    return shape(**values)


def _read_member(member: Member, node: Node, path: str) -> Any:
    kind = member.layout.kind
    if kind is Kind.LIST or kind is Kind.MAP:
        # An empty list has no element to be named after: SDKs then send its own name, empty.
        emptied = node.below.get(member.wire_name)
        found = node.below.get(member.query_name) or emptied
        if found is None:
            # Nothing tells a missing batch from an empty one; it is refused as empty.
            return [] if member.required and _holds_structures(member.layout) else None
        read = _read_list if kind is Kind.LIST else _read_map
        return read(member, found, f"{path}{member.query_name}")
    found = node.below.get(member.query_name)
    return None if found is None else _read(member.layout, found, path + member.query_name)


def _holds_structures(layout: Layout) -> bool:
    return layout.element is not None and layout.element.shape is not None


def _read_list(member: Member, node: Node, path: str) -> list[Any]:
    element = member.layout.element
    assert element is not None
    numbered = node.numbered()
    if not numbered and node.value:
        # A list of one may be sent without a number.
        return [_read(element, node, path)]
    return [_required(element, each, f"{path}.{index}") for index, each in numbered]


def _read_map(member: Member, node: Node, path: str) -> dict[str, Any]:
    element = member.layout.element
    assert element is not None
    pairs: list[tuple[str, Node]] = [(f"{path}.{index}", each) for index, each in node.numbered()]
    if member.key_name in node.below:
        # A map of one may be sent without a number, too.
        pairs.append((path, node))
    found: dict[str, Any] = {}
    for where, pair in pairs:
        key = pair.below.get(member.key_name)
        if key is None or key.value is None:
            raise _missing(f"{where}.{member.key_name}")
        value = pair.below.get("Value")
        if value is None:
            raise _missing(f"{where}.Value")
        found[key.value] = _required(element, value, f"{where}.Value")
    return found


def _required(layout: Layout, node: Node, path: str) -> Any:
    value = _read(layout, node, path)
    if value is None:
        raise _missing(path)
    return value


def _read(layout: Layout, node: Node, path: str) -> Any:
    if layout.shape is not None:
        return read_structure(layout.shape, node, f"{path}.")
    text = node.value
    if text is None or layout.kind is Kind.TEXT:
        return text
    match layout.kind:
        case Kind.BOOLEAN:
            value = _BOOLEANS.get(text.lower())
            if value is None:
                raise _invalid(text, path, "Must be true or false.")
            return value
        case Kind.BLOB:
            return _blob(text, path)
        case _:
            return _number(text, path, _BITS[layout.kind])


def _number(text: str, path: str, bits: int) -> int:
    if _DIGITS.fullmatch(text):
        number = int(text)
        if -(1 << bits) <= number < 1 << bits:
            return number
    raise _invalid(text, path, "Must be an integer.")


def _blob(text: str, path: str) -> bytes:
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        raise _invalid(text, path, "Must be base64.") from None


def _missing(path: str) -> MissingParameter:
    return MissingParameter(f"The request must contain the parameter {path}.")


_SHOWN_MAX = 100


def _invalid(text: str, path: str, reason: str) -> InvalidParameterValue:
    shown = text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}..."
    return InvalidParameterValue(f"Value {shown} for parameter {path} is invalid. Reason: {reason}")
