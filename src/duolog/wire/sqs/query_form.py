"""Form-encoded parameters, and the tree that their dotted names describe."""

import re
from binascii import a2b_qp

from duolog.model.queue_errors import InvalidParameterValue

PARAMETERS_MAX = 2_000
"""Limit of parameters: ten messages of ten attributes each, with all members, need less than
600."""

_DEPTH_MAX = 8
"""Limit of parts of a name:
`SendMessageBatchRequestEntry.1.MessageAttribute.1.Value.StringListValue.1` has seven."""

_INDEX_DIGITS_MAX = 9

_BROKEN_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")

Form = dict[str, str]
"""Parameters by name. If one is given twice, the last value counts."""


class Node:
    """Node of the tree: the value of a name, and the nodes below it."""

    __slots__ = ("below", "value")

    def __init__(self) -> None:
        self.value: str | None = None
        self.below: dict[str, Node] = {}

    def numbered(self) -> list[tuple[int, "Node"]]:
        """The nodes below whose names are numbers, in that order; gaps do not matter."""
        return sorted(
            (
                (int(name), node)
                for name, node in self.below.items()
                if name.isascii() and name.isdigit() and len(name) <= _INDEX_DIGITS_MAX
            ),
            key=_number,
        )


def _number(numbered: tuple[int, Node]) -> int:
    return numbered[0]


def parse_form(data: bytes) -> Form:
    """Parses a form-encoded body, or the query of a URL."""
    if data.count(b"&") >= PARAMETERS_MAX:
        raise InvalidParameterValue(f"A request has at most {PARAMETERS_MAX} parameters.")
    if _BROKEN_ESCAPE.search(data):
        raise InvalidParameterValue("The parameters have a % without two hexadecimal digits.")
    form: Form = {}
    try:
        for field in data.split(b"&"):
            if field:
                name, _, value = field.partition(b"=")
                form[_plain(name)] = _plain(value)
    except UnicodeDecodeError:
        raise InvalidParameterValue("The parameters are not valid UTF-8.") from None
    return form


def _plain(encoded: bytes) -> str:
    if b"+" in encoded:
        encoded = encoded.replace(b"+", b" ")
    if b"%" in encoded:
        # Quoted-printable differs only in its escape character, and is decoded in C. Decoding
        # megabytes of escapes one by one in Python would block the event loop.
        encoded = a2b_qp(encoded.replace(b"=", b"%3D").replace(b"%", b"="))
    return encoded.decode()


def tree_of(form: Form) -> Node:
    root = Node()
    for name, value in form.items():
        parts = name.split(".", _DEPTH_MAX)
        if len(parts) > _DEPTH_MAX:
            continue
        node = root
        for part in parts:
            node = node.below.setdefault(part, Node())
        node.value = value
    return root
