"""Headers of requests and responses. The connection handles the four-byte size before each."""

from struct import Struct
from struct import error as StructError

from duolog.wire.kafka.apis import (
    APIS,
    NEVER,
    ApiKey,
    request_header_version,
    response_header_version,
)
from duolog.wire.kafka.errors import MalformedRequest, MalformedResponse
from duolog.wire.kafka.primitives import INT32, NO_TAGS, legacy_string, read_text, skip_tags

SIZE_BYTES = 4

_REQUEST = Struct(">hhih")
_REQUEST_START = Struct(">hhi")
_RESPONSE = Struct(">ii")
_FLEXIBLE_RESPONSE = Struct(">iix")

_REQUEST_TAGS_FROM = {int(key): api.flexible_from for key, api in APIS.items()}
_RESPONSE_TAGS_FROM = {**_REQUEST_TAGS_FROM, int(ApiKey.API_VERSIONS): NEVER}


def parse_header(
    buffer: memoryview, position: int, end: int
) -> tuple[int, int, int, str | None, int]:
    """api_key, api_version, correlation_id, client_id, and the position of the body."""
    client_id_at = position + _REQUEST.size
    if client_id_at > end:
        raise MalformedRequest("a frame is shorter than a request header")
    api_key, api_version, correlation_id, length = _REQUEST.unpack_from(buffer, position)
    if length > 0:
        position = client_id_at + length
        client_id: str | None = read_text(buffer, client_id_at, position, end)
    elif length >= -1:
        position = client_id_at
        client_id = None if length else ""
    else:
        raise MalformedRequest("a client id has a negative length")
    if api_version >= _REQUEST_TAGS_FROM.get(api_key, NEVER):
        try:
            position = skip_tags(buffer, position, end)
        except IndexError as error:
            raise MalformedRequest("a request header is cut off") from error
        if position > end:
            raise MalformedRequest("a request header runs past the end of its frame")
    return api_key, api_version, correlation_id, client_id, position


def encode_header(api_key: int, api_version: int, correlation_id: int, client_id: str) -> bytes:
    """The header of a request, without the size."""
    header = _REQUEST_START.pack(api_key, api_version, correlation_id) + legacy_string(client_id)
    return header + NO_TAGS if request_header_version(api_key, api_version) == 2 else header


def response_prefix(api_key: int, api_version: int, correlation_id: int, body_bytes: int) -> bytes:
    """The size and the header that precede a response body of `body_bytes`."""
    if api_version >= _RESPONSE_TAGS_FROM.get(api_key, NEVER):
        return _FLEXIBLE_RESPONSE.pack(
            body_bytes + _FLEXIBLE_RESPONSE.size - SIZE_BYTES, correlation_id
        )
    return _RESPONSE.pack(body_bytes + _RESPONSE.size - SIZE_BYTES, correlation_id)


def parse_response_header(
    api_key: int, api_version: int, buffer: memoryview, position: int, end: int
) -> tuple[int, int]:
    """correlation_id and position of the body, for a response without its size."""
    try:
        (correlation_id,) = INT32.unpack_from(buffer, position)
        position += INT32.size
        if response_header_version(api_key, api_version):
            position = skip_tags(buffer, position, end)
    except (StructError, IndexError, MalformedRequest) as error:
        raise MalformedResponse("a response header is cut off") from error
    if position > end:
        raise MalformedResponse("a response header runs past the end of its frame")
    return correlation_id, position
