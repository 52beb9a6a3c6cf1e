"""Answers of the Query protocol: structs as elements of an XML document.

The writer of a structure is made once per type, from functions that append bytes.
"""

import re
from binascii import b2a_base64
from collections.abc import Callable
from functools import cache
from typing import Any

from duolog.wire.sqs.messages import Shape
from duolog.wire.sqs.query_layout import Kind, Layout, Member, members_of

Writer = Callable[[Any, list[bytes]], None]

_MARKUP = {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord('"'): "&quot;",
    # A parser would take it for the end of a line, which XML spells "\n".
    ord("\r"): "&#xD;",
}
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_SUSPECT = bytes(code for code in range(0x20) if code not in b"\t\n") + bytes(_MARKUP)


def escape(text: str) -> bytes:
    if text.isascii():
        data = text.encode()
        if len(data.translate(None, _SUSPECT)) == len(data):
            return data
    # A Kafka client's record may have characters that no XML document can have, not even escaped;
    # one such message must not make the whole answer unreadable.
    return _UNSPEAKABLE.sub("\ufffd", text).translate(_MARKUP).encode()


def write_structure(value: Shape, parts: list[bytes]) -> None:
    """Appends the members, without an element around them."""
    for field, write in _writers_of(type(value)):
        given = getattr(value, field)
        if given is not None:
            write(given, parts)


@cache
def _writers_of(shape: type[Shape]) -> tuple[tuple[str, Writer], ...]:
    return tuple((member.field, _member_writer(member)) for member in members_of(shape))


def _member_writer(member: Member) -> Writer:
    layout = member.layout
    match layout.kind:
        case Kind.LIST:
            assert layout.element is not None
            return _list_writer(_writer(member.query_name, layout.element))
        case Kind.MAP:
            assert layout.element is not None
            return _map_writer(member, _writer("Value", layout.element))
        case _:
            return _writer(member.query_name, layout)


def _list_writer(write_element: Writer) -> Writer:
    def write(given: Any, parts: list[bytes]) -> None:
        for each in given:
            write_element(each, parts)

    return write


def _map_writer(member: Member, write_value: Writer) -> Writer:
    start = f"<{member.query_name}><{member.key_name}>".encode()
    middle = f"</{member.key_name}>".encode()
    end = f"</{member.query_name}>".encode()

    def write(given: Any, parts: list[bytes]) -> None:
        for key, value in given.items():
            parts += (start, escape(key), middle)
            write_value(value, parts)
            parts.append(end)

    return write


def _writer(name: str, layout: Layout) -> Writer:
    start, end = f"<{name}>".encode(), f"</{name}>".encode()

    def write_nested(given: Any, parts: list[bytes]) -> None:
        parts.append(start)
        write_structure(given, parts)
        parts.append(end)

    def write_scalar(given: Any, parts: list[bytes]) -> None:
        parts += (start, convert(given), end)

    if layout.kind is Kind.STRUCTURE:
        return write_nested
    convert = _CONVERSIONS[layout.kind]
    return write_scalar


_CONVERSIONS: dict[Kind, Callable[[Any], bytes]] = {
    Kind.TEXT: escape,
    Kind.INTEGER: lambda number: b"%d" % number,
    Kind.LONG: lambda number: b"%d" % number,
    Kind.BOOLEAN: lambda truth: b"true" if truth else b"false",
    Kind.BLOB: lambda blob: b2a_base64(blob, newline=False),
}
