"""Signature of a request as claimed in its header or its URL, not verified yet."""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from duolog.model.queue_errors import (
    IncompleteSignature,
    InvalidSecurity,
    MissingAuthenticationToken,
)
from duolog.wire.sqs.sigv4.canonical import ALGORITHM, TERMINATOR, Scope

PRESIGNED_SECONDS_MAX = 604_800

_IN_URL = "X-Amz-Signature"


class Claim(NamedTuple):
    access_key: str
    scope: Scope
    timestamp: str
    """Time as given, which may not be a valid one."""
    signed_headers: bytes
    signature: str
    query: str
    """Query of the URL as it was signed: all but the signature."""
    expires_seconds: int | None
    """Lifetime of a presigned URL; None for a signature in a header."""
    payload_hash: str | None
    """Hash of the body, if the request states it."""


def read_claim(query: str, headers: Mapping[bytes, bytes]) -> Claim:
    authorization = headers.get(b"authorization")
    if authorization is not None:
        return _claim_in_header(authorization.decode("latin-1"), query, headers)
    if f"{_IN_URL}=" in query:
        return _claim_in_url(query, headers)
    if "SignatureVersion=" in query or "X-Amz-Algorithm=" in query:
        raise InvalidSecurity("Requests must be signed with AWS Signature Version 4.")
    raise MissingAuthenticationToken("Request is missing Authentication Token")


def _claim_in_header(value: str, query: str, headers: Mapping[bytes, bytes]) -> Claim:
    algorithm, _, rest = value.strip().partition(" ")
    _check_algorithm(algorithm)
    parts: dict[str, str] = {}
    for each in rest.split(","):
        name, _, part = each.strip().partition("=")
        parts[name] = part
    missing = [name for name in ("Credential", "Signature", "SignedHeaders") if not parts.get(name)]
    timestamp = headers.get(b"x-amz-date") or headers.get(b"date")
    if missing or timestamp is None:
        problems = [f"Authorization header requires '{name}' parameter." for name in missing]
        if timestamp is None:
            problems.append(
                "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' "
                "header."
            )
        raise IncompleteSignature(" ".join(problems))
    access_key, scope = _split_credential(parts["Credential"])
    return Claim(
        access_key,
        scope,
        timestamp.decode("latin-1"),
        parts["SignedHeaders"].encode("latin-1"),
        parts["Signature"],
        query,
        None,
        _payload_hash(headers),
    )


def _claim_in_url(query: str, headers: Mapping[bytes, bytes]) -> Claim:
    pairs = [each.partition("=") for each in query.split("&")]
    parts = {unquote(name): unquote(value) for name, _, value in pairs}
    _check_algorithm(parts.get("X-Amz-Algorithm", ALGORITHM))
    names = ("X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", _IN_URL)
    missing = [name for name in names if not parts.get(name)]
    if missing:
        raise IncompleteSignature(f"AWS query-string parameters must include '{missing[0]}'.")
    access_key, scope = _split_credential(parts["X-Amz-Credential"])
    return Claim(
        access_key,
        scope,
        parts["X-Amz-Date"],
        parts["X-Amz-SignedHeaders"].encode("utf-8"),
        parts[_IN_URL],
        "&".join(f"{name}={value}" for name, _, value in pairs if unquote(name) != _IN_URL),
        _expiry(parts["X-Amz-Expires"]),
        _payload_hash(headers) or parts.get("X-Amz-Content-Sha256"),
    )


def _check_algorithm(algorithm: str) -> None:
    if algorithm != ALGORITHM:
        raise InvalidSecurity(f"Requests must be signed with {ALGORITHM}.")


def _split_credential(credential: str) -> tuple[str, Scope]:
    parts = credential.split("/")
    if len(parts) != 5:
        raise IncompleteSignature(
            "Credential must have exactly 5 slash-delimited elements, e.g. "
            "keyid/date/region/service/term."
        )
    access_key, date, region, service, terminator = parts
    if terminator != TERMINATOR:
        raise IncompleteSignature(
            f"Credential should be scoped with a valid terminator: '{TERMINATOR}'."
        )
    return access_key, Scope(date, region, service)


def _expiry(text: str) -> int:
    # Bounded before it is converted: the sender chooses the number's length.
    if text.isascii() and text.isdigit() and len(text) <= len(str(PRESIGNED_SECONDS_MAX)):
        seconds = int(text)
        if 1 <= seconds <= PRESIGNED_SECONDS_MAX:
            return seconds
    raise IncompleteSignature(f"X-Amz-Expires is from 1 to {PRESIGNED_SECONDS_MAX} seconds.")


def _payload_hash(headers: Mapping[bytes, bytes]) -> str | None:
    given = headers.get(b"x-amz-content-sha256")
    return None if given is None else given.decode("latin-1").strip()
