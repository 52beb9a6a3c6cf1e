"""The MD5 digests in which clients check that their messages arrived whole.

They are no protection against anyone, only against accidents.
"""

from collections.abc import Mapping, Sequence
from hashlib import md5
from struct import Struct

from duolog.wire.sqs.texts import Texts

SIDE_BY_SIDE_MIN = 3
"""So many are digested sooner together than one after the other."""

_DIGEST_CHARS = 32
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


try:
    from duolog.wire.sqs._md5 import md5_of_each
except ImportError:
    # There was no compiler where Duolog was installed.
    def md5_of_each(values: list[bytes], /) -> str:
        return "".join(map(md5_of_body, values))


def md5_of_bodies(bodies: list[bytes]) -> Sequence[str]:
    """Of each of them."""
    if len(bodies) >= SIDE_BY_SIDE_MIN:
        return Texts(md5_of_each(bodies), _DIGEST_CHARS)
    return list(map(md5_of_body, bodies))


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
