"""The MD5 digests in which clients check that their messages arrived whole.

They are no protection against anyone, only against accidents.
"""

from collections.abc import Mapping
from hashlib import md5
from struct import Struct

_LENGTH = Struct(">I").pack
_new_md5 = md5(usedforsecurity=False).copy
"""Faster than to begin anew: what has to be looked up for that was."""
_STRING = b"\x01"
_BINARY = b"\x02"


def md5_of_body(body: bytes) -> str:
    """Of the body in UTF-8."""
    digest = _new_md5()
    digest.update(body)
    return digest.hexdigest()


def md5_of_attributes(attributes: Mapping[str, tuple[str, bytes]]) -> str:
    """Of data types and values by name; those that are text in UTF-8.

    Attributes of users and of the system are digested alike: sorted by name, each part
    after its length, and between type and value whether the value is text.
    """
    parts: list[bytes] = []
    for name in sorted(attributes):
        data_type, value = attributes[name]
        for part in (name.encode(), data_type.encode()):
            parts += (_LENGTH(len(part)), part)
        kind = _BINARY if data_type.startswith("Binary") else _STRING
        parts += (kind, _LENGTH(len(value)), value)
    return md5(b"".join(parts), usedforsecurity=False).hexdigest()
