"""Codec of every API that has none of its own, driven by its schema.

Requests and responses are decoded into kio's class for their version, whose fields differ by
version. They are encoded from one mapping that may hold the fields of all versions: fields that
this version lacks are left out, and those that the mapping lacks get their defaults.
"""

from collections.abc import Mapping
from struct import error as StructError
from typing import Any

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka.decoder import Bounds, decoder
from duolog.wire.kafka.encoder import encoder, to_ms
from duolog.wire.kafka.errors import MalformedMessage, MalformedRequest, MalformedResponse
from duolog.wire.kafka.schema import Kind, entity

__all__ = [
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "to_ms",
]


def decode_request(api_key: int, version: int, body: memoryview) -> Any:
    """Decodes kio's request of a version that apis.py serves, from a body without its header."""
    try:
        return _decode(api_key, version, "request", body, ARRAY_ITEMS_MAX)
    except _MALFORMED as error:
        raise MalformedRequest(str(error)) from error


def decode_response(api_key: int, version: int, body: memoryview) -> Any:
    """Decodes kio's response; a broker may send as many items as fit in a frame."""
    try:
        return _decode(api_key, version, "response", body, len(body))
    except _MALFORMED as error:
        raise MalformedResponse(str(error)) from error


def encode_request(api_key: int, version: int, fields: Mapping[str, Any]) -> bytes:
    """The body of a request, without its header."""
    return encoder(api_key, version, "request")(fields)


def encode_response(api_key: int, version: int, fields: Mapping[str, Any]) -> bytes:
    """The body of a response, without its header."""
    return encoder(api_key, version, "response")(fields)


# A field can be well-formed and its value still invalid: text that is not UTF-8, an unknown error
# code, a duration beyond what a timedelta holds.
_MALFORMED = (StructError, IndexError, ValueError, OverflowError, MalformedMessage)


def _decode(api_key: int, version: int, kind: Kind, body: memoryview, items_max: int) -> Any:
    read = decoder(entity(api_key, version, kind))
    message, position = read(body, 0, Bounds(len(body), items_max))
    # A request may be followed by bytes that nobody reads: Kafka allows it and clients rely on it
    # (see metadata.py).
    if kind == "response" and position != len(body):
        raise MalformedMessage("a response does not end where its frame ends")
    return message
