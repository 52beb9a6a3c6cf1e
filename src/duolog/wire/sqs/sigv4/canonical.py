"""Canonical form of a request, over which both sides compute its signature."""

import hmac
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

ALGORITHM = "AWS4-HMAC-SHA256"
TERMINATOR = "aws4_request"
SERVICE = "sqs"

SIGNING_KEYS_MAX = 1_024
"""Limit of cached keys: one per secret and day within which a signature can be valid."""

_PLAIN_PATH = re.compile(r"(?:/[A-Za-z0-9_~-][A-Za-z0-9_.~-]*)*/?")


class Scope(NamedTuple):
    """Scope of a signing key."""

    date: str
    """Date as YYYYMMDD."""
    region: str
    service: str = SERVICE

    def __str__(self) -> str:
        return f"{self.date}/{self.region}/{self.service}/{TERMINATOR}"


def signature(secret_key: str, scope: Scope, timestamp: str, canonical_request: bytes) -> str:
    """The signature; `timestamp` is YYYYMMDD'T'HHMMSS'Z'."""
    digest = sha256(canonical_request).hexdigest()
    text = f"{ALGORITHM}\n{timestamp}\n{scope}\n{digest}"
    return hmac.digest(_signing_key(secret_key, scope), text.encode(), "sha256").hex()


@lru_cache(maxsize=SIGNING_KEYS_MAX)
def _signing_key(secret_key: str, scope: Scope) -> bytes:
    key = b"AWS4" + secret_key.encode()
    for part in (*scope, TERMINATOR):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def canonical_request(
    method: str,
    path: str,
    query: str,
    headers: Mapping[bytes, bytes],
    signed_headers: bytes,
    payload_hash: str,
) -> bytes:
    """The canonical form.

    `query` is without the signature itself; `signed_headers` are lower-case names, joined by
    semicolons. A signed header that is missing counts as empty.
    """
    lines = [
        f"{method}\n{canonical_path(path)}\n{canonical_query(query)}".encode(),
        *_header_lines(headers, signed_headers.split(b";")),
        b"",
        signed_headers,
        payload_hash.encode(),
    ]
    return b"\n".join(lines)


def canonical_path(path: str) -> str:
    """The path without empty and dot segments, encoded once more than it was sent."""
    if path and _PLAIN_PATH.fullmatch(path):
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    end = "/" if kept and path.endswith("/") else ""
    return quote(f"/{'/'.join(kept)}{end}", safe="/~", encoding="latin-1")


def canonical_query(query: str) -> str:
    """The query, sorted, and encoded in one way regardless of how it was sent."""
    if not query:
        return ""
    sent = (each.partition("=") for each in query.split("&") if each)
    # By name, then by value: sorting the joined pairs would put "a.b=" before "a=".
    pairs = sorted((_encoded(name), _encoded(value)) for name, _, value in sent)
    return "&".join(f"{name}={value}" for name, value in pairs)


def _encoded(text: str) -> str:
    return quote(unquote_to_bytes(text.encode("latin-1")), safe="-_.~")


def _header_lines(headers: Mapping[bytes, bytes], names: Iterable[bytes]) -> Iterable[bytes]:
    for name in names:
        yield name + b":" + b" ".join(headers.get(name, b"").split())
