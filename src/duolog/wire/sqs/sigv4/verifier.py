"""Verifies the signature of a request and returns its signer, or refuses it."""

import hmac
from collections.abc import Callable, Mapping
from hashlib import sha256

from duolog.model.queue_errors import (
    IncompleteSignature,
    InvalidClientTokenId,
    RequestExpired,
    SignatureDoesNotMatch,
)
from duolog.wire.sqs.sigv4.canonical import SERVICE, canonical_request, signature
from duolog.wire.sqs.sigv4.claim import Claim, read_claim
from duolog.wire.sqs.sigv4.timestamps import parse_moment

SKEW_MS_MAX = 15 * 60 * 1_000
"""Tolerated difference between the clocks of client and server."""

UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD"
"""Stands for the body's hash if the client signed everything but the body."""


def verify(
    method: str,
    path: str,
    query: str,
    headers: Mapping[bytes, bytes],
    body: bytes,
    *,
    secret_of: Callable[[str], str | None],
    region: str,
    now_ms: int,
) -> str:
    """The access key whose secret signed this; raises an AccessDenied of the kind that AWS gives.

    Path and query are as sent, still encoded; header names are in lower case.
    """
    claim = read_claim(query, headers)
    secret_key = secret_of(claim.access_key)
    if secret_key is None:
        raise InvalidClientTokenId("The security token included in the request is invalid.")
    timestamp = _check_time(claim, now_ms)
    _check_scope(claim, timestamp, region)
    _check_signed_headers(claim, headers)
    request = canonical_request(
        method, path, claim.query, headers, claim.signed_headers, _payload_hash(claim, body)
    )
    expected = signature(secret_key, claim.scope, timestamp, request)
    if not hmac.compare_digest(expected.encode(), claim.signature.encode()):
        raise SignatureDoesNotMatch(
            "The request signature we calculated does not match the signature you provided. "
            "Check your AWS Secret Access Key and signing method. Consult the service "
            "documentation for details."
        )
    return claim.access_key


def _check_time(claim: Claim, now_ms: int) -> str:
    """The time of signing, in the format in which it is signed."""
    signed = parse_moment(claim.timestamp)
    if signed is None:
        raise IncompleteSignature(
            "Date must be in ISO-8601 'basic format'. Got something else. See "
            "http://en.wikipedia.org/wiki/ISO_8601"
        )
    age_ms = now_ms - signed.ms
    if age_ms < -SKEW_MS_MAX:
        raise RequestExpired(f"Signature not yet current: {signed.basic} is in the future.")
    age_ms_max = SKEW_MS_MAX if claim.expires_seconds is None else claim.expires_seconds * 1_000
    if age_ms > age_ms_max:
        raise RequestExpired(f"Signature expired: {signed.basic} is too long ago.")
    return signed.basic


def _check_scope(claim: Claim, timestamp: str, region: str) -> None:
    scope = claim.scope
    if scope.region != region:
        raise SignatureDoesNotMatch(
            f"Credential should be scoped to a valid region, here '{region}'."
        )
    if scope.service != SERVICE:
        raise SignatureDoesNotMatch(f"Credential should be scoped to correct service: '{SERVICE}'.")
    if scope.date != timestamp[:8]:
        raise SignatureDoesNotMatch(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
            "from HTTP."
        )


def _check_signed_headers(claim: Claim, headers: Mapping[bytes, bytes]) -> None:
    """Refuses unsigned headers that select the queue or the action: they could be changed in
    transit."""
    signed = claim.signed_headers.split(b";")
    if b"host" not in signed:
        raise SignatureDoesNotMatch("'Host' must be a 'SignedHeader' in the AWS Authorization.")
    for name in headers:
        if name.startswith(b"x-amz-") and name not in signed:
            raise SignatureDoesNotMatch(
                f"'{name.decode('latin-1')}' must be a 'SignedHeader' in the AWS Authorization."
            )


def _payload_hash(claim: Claim, body: bytes) -> str:
    if claim.payload_hash == UNSIGNED_PAYLOAD:
        return UNSIGNED_PAYLOAD
    actual = sha256(body).hexdigest()
    if claim.payload_hash is not None and claim.payload_hash != actual:
        raise SignatureDoesNotMatch("The body does not have the hash that was signed.")
    return actual
