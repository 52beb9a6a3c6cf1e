"""Feeds arbitrary bytes to every parser of the Kafka protocol.

A parser may only return or raise MalformedRequest. What the schema accepts, the codecs
written by hand must accept too: a request that only they refuse would be a lost client.
"""

import sys
from contextlib import suppress

import atheris

with atheris.instrument_imports(include=["duolog"]):
    from duolog.wire.kafka import fetch, frames, messages, metadata, produce
    from duolog.wire.kafka.apis import APIS, ApiKey
    from duolog.wire.kafka.errors import MalformedRequest, MalformedResponse

BY_HAND = {
    ApiKey.PRODUCE: produce.parse_request,
    ApiKey.FETCH: fetch.parse_request,
    ApiKey.METADATA: metadata.parse_request,
}
TARGETS = [
    (api.key, version)
    for api in APIS.values()
    for version in range(api.min_version, api.max_version + 1)
]


def test_one_input(data: bytes) -> None:
    if len(data) < 2:
        return
    api_key, version = TARGETS[data[0] % len(TARGETS)]
    body = memoryview(data)[1:]
    fuzz_header(body)
    if api_key == ApiKey.PRODUCE:
        fuzz_shape(version, body)
    fuzz_request(api_key, version, body)
    fuzz_response(api_key, version, body)


def fuzz_header(body: memoryview) -> None:
    try:
        _, _, _, _, position = frames.parse_header(body, 0, len(body))
    except MalformedRequest:
        return
    assert position <= len(body)


def fuzz_shape(version: int, body: memoryview) -> None:
    """A frame that is taken for one of a known shape must be cut where its records end."""
    at = min(4, len(body))
    records = produce.records_after(version, body, at, len(body))
    assert records is None or at + len(records) <= len(body)


def fuzz_request(api_key: ApiKey, version: int, body: memoryview) -> None:
    accepted = True
    try:
        messages.decode_request(api_key, version, body)
    except MalformedRequest:
        accepted = False
    if api_key in BY_HAND:
        try:
            BY_HAND[api_key](version, body, 0, len(body))
        except MalformedRequest:
            assert not accepted, f"{api_key.name} {version} is refused only by hand"


def fuzz_response(api_key: ApiKey, version: int, body: memoryview) -> None:
    with suppress(MalformedResponse):
        messages.decode_response(api_key, version, body)


if __name__ == "__main__":
    atheris.Setup(sys.argv, test_one_input)
    atheris.Fuzz()
