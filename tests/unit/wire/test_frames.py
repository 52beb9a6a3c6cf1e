from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.request_header.v1 import RequestHeader as HeaderV1
from kio.schema.request_header.v2 import RequestHeader as HeaderV2
from kio.schema.response_header.v0 import ResponseHeader as ResponseV0
from kio.schema.response_header.v1 import ResponseHeader as ResponseV1

from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedRequest, MalformedResponse
from duolog.wire.kafka.frames import (
    encode_header,
    parse_header,
    parse_response_header,
    response_prefix,
)

int32s = st.integers(-(2**31), 2**31 - 1)


@settings(max_examples=50, deadline=None)
@given(correlation_id=int32s, client_id=st.none() | st.text(max_size=40), flexible=st.booleans())
def test_a_request_header_is_read_as_kio_writes_it(
    kio: Any, correlation_id: int, client_id: str | None, flexible: bool
) -> None:
    version = 9 if flexible else 8
    schema: Any = HeaderV2 if flexible else HeaderV1
    header = kio.write(
        schema(
            request_api_key=0,
            request_api_version=version,
            correlation_id=correlation_id,
            client_id=client_id,
        )
    )
    buffer = memoryview(b"xxx" + header + b"body and the next frame")
    end = 3 + len(header) + 4
    expected = (0, version, correlation_id, client_id, 3 + len(header))
    assert parse_header(buffer, 3, end) == expected
    if client_id is not None:
        assert encode_header(0, version, correlation_id, client_id) == header
    for cut in range(3, 3 + len(header)):
        with pytest.raises(MalformedRequest):
            parse_header(buffer, 3, cut)
        with pytest.raises(MalformedRequest):
            parse_header(buffer[:cut], 3, cut)


def test_tagged_fields_of_a_header_are_skipped() -> None:
    header = b"\0\3\0\x0c\0\0\0\1\0\1c" + b"\1\x63\2ab"
    assert parse_header(memoryview(header), 0, len(header)) == (3, 12, 1, "c", len(header))


@pytest.mark.parametrize(
    "header",
    [
        b"\0\0\0\x08\0\0\0\1\xff\xfe",
        b"\0\0\0\x08\0\0\0\1\x80\0",
        b"\0\0\0\x08\0\0\0\1\x7f\xffabc",
        b"\0\0\0\x08\0\0\0\1\0\1\xff",
        b"\0\0\0\x09\0\0\0\1\xff\xff\x01\x00\xff\xff\xff\xff\x07",
        b"\0\0\0\x09\0\0\0\1\xff\xff\xff\xff\xff\xff\xff\xff",
        b"",
    ],
)
def test_a_hostile_header_is_malformed(header: bytes) -> None:
    with pytest.raises(MalformedRequest):
        parse_header(memoryview(header), 0, len(header))


@given(correlation_id=int32s)
@settings(max_examples=20, deadline=None)
def test_a_response_begins_with_its_size_and_header(kio: Any, correlation_id: int) -> None:
    cases: list[tuple[int, int, Any]] = [
        (ApiKey.PRODUCE, 8, ResponseV0),
        (ApiKey.PRODUCE, 9, ResponseV1),
        (ApiKey.API_VERSIONS, 4, ResponseV0),
    ]
    for api_key, version, header in cases:
        expected = kio.write(header(correlation_id=correlation_id))
        prefix = response_prefix(api_key, version, correlation_id, 100)
        assert prefix == (len(expected) + 100).to_bytes(4, "big") + expected
        buffer = memoryview(expected + b"body")
        parsed = parse_response_header(api_key, version, buffer, 0, len(buffer))
        assert parsed == (correlation_id, len(expected))
        for cut in range(len(expected)):
            with pytest.raises(MalformedResponse):
                parse_response_header(api_key, version, buffer[:cut], 0, cut)
            with pytest.raises(MalformedResponse):
                parse_response_header(api_key, version, buffer, 0, cut)
