"""Signs requests, for our own clients."""

from collections.abc import Mapping
from hashlib import sha256

from duolog.wire.sqs.sigv4.canonical import ALGORITHM, Scope, canonical_request, signature
from duolog.wire.sqs.sigv4.timestamps import moment_at


def sign(
    method: str,
    path: str,
    query: str,
    headers: Mapping[bytes, bytes],
    body: bytes,
    *,
    access_key: str,
    secret_key: str,
    region: str,
    now_ms: int,
) -> dict[bytes, bytes]:
    """The headers to send: those given, which are all signed, and the two of the signature.

    Header names are in lower case, and `host` is among them.
    """
    timestamp = moment_at(now_ms).basic
    scope = Scope(timestamp[:8], region)
    signed = {**headers, b"x-amz-date": timestamp.encode()}
    names = b";".join(sorted(signed))
    request = canonical_request(method, path, query, signed, names, sha256(body).hexdigest())
    signed[b"authorization"] = (
        f"{ALGORITHM} Credential={access_key}/{scope}, SignedHeaders={names.decode()}, "
        f"Signature={signature(secret_key, scope, timestamp, request)}"
    ).encode()
    return signed
