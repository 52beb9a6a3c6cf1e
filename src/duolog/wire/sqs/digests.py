"""MD5 digests by which clients check that their messages arrived whole.

They protect against accidents only, not against attackers.
"""

from collections.abc import Mapping, Sequence
from hashlib import md5
from struct import Struct

from duolog.wire.sqs.texts import Texts

SIDE_BY_SIDE_MIN = 3
"""Number of bodies from which digesting them together is faster than one by one."""

_DIGEST_CHARS = 32
_LENGTH = Struct(">I").pack
_new_md5 = md5(usedforsecurity=False).copy
"""Copies a fresh state, which is faster than md5(): that looks the algorithm up each time."""
_STRING = b"\x01"
_BINARY = b"\x02"


def md5_of_body(body: bytes) -> str:
    """Digest of a body in UTF-8."""
    digest = _new_md5()
    digest.update(body)
    return digest.hexdigest()


try:
    from duolog.wire.sqs._md5 import md5_of_each
except ImportError:
    # No compiler was present when Duolog was installed.
    def md5_of_each(values: list[bytes], /) -> str:
        return "".join(map(md5_of_body, values))


def md5_of_bodies(bodies: list[bytes]) -> Sequence[str]:
    """Digest of each body."""
    if len(bodies) >= SIDE_BY_SIDE_MIN:
        return Texts(md5_of_each(bodies), _DIGEST_CHARS)
    return list(map(md5_of_body, bodies))


def md5_of_attributes(attributes: Mapping[str, tuple[str, bytes]]) -> str:
    """Digest of attributes, given as data type and value by name; text values in UTF-8.

    Attributes of users and of the system are digested alike: sorted by name, each part after its
    length, and between type and value a byte that tells text from binary.
    """
    parts: list[bytes] = []
    for name in sorted(attributes):
        data_type, value = attributes[name]
        for part in (name.encode(), data_type.encode()):
            parts += (_LENGTH(len(part)), part)
        kind = _BINARY if data_type.startswith("Binary") else _STRING
        parts += (kind, _LENGTH(len(value)), value)
    return md5(b"".join(parts), usedforsecurity=False).hexdigest()
