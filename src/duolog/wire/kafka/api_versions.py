"""ApiVersions responses, versions 0-4: the first answer that a client gets."""

from struct import Struct

from duolog.wire.kafka.apis import APIS, Api, ApiKey
from duolog.wire.kafka.primitives import INT16, INT32, NO_TAGS, uvarint

UNSUPPORTED_VERSION = 35

_RANGE = Struct(">hhh")


def encode_response(version: int) -> bytes:
    """The body of the answer to a request of `version`.

    A client newer than this broker gets version 0, the only one that it surely reads, with the
    range of this API, from which it chooses the version for its next attempt.
    """
    return _BODIES.get(version, _UNSUPPORTED)


def _encode(version: int) -> bytes:
    if version >= APIS[ApiKey.API_VERSIONS].flexible_from:
        ranges = b"".join(_range(api) + NO_TAGS for api in APIS.values())
        return INT16.pack(0) + uvarint(len(APIS) + 1) + ranges + INT32.pack(0) + NO_TAGS
    body = INT16.pack(0) + INT32.pack(len(APIS)) + b"".join(map(_range, APIS.values()))
    return body + INT32.pack(0) if version >= 1 else body


def _range(api: Api) -> bytes:
    return _RANGE.pack(api.key, api.advertised_min_version, api.max_version)


_BODIES = {
    version: _encode(version) for version in range(APIS[ApiKey.API_VERSIONS].max_version + 1)
}
_UNSUPPORTED = INT16.pack(UNSUPPORTED_VERSION) + INT32.pack(1) + _range(APIS[ApiKey.API_VERSIONS])
