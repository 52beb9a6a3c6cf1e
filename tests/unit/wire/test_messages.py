"""Every API that is read and written from its schema, against kio."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.errors import MalformedRequest, MalformedResponse
from duolog.wire.kafka.messages import (
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    to_ms,
)
from duolog.wire.kafka.schema import Kind, entity, field_names

every_api = pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)


def samples(kio: Any, api: Any, kind: Kind) -> Any:
    """For every version some arbitrary values and their kio entity."""
    random = Random(f"{api.name} {kind}")
    for version in range(api.min_version, api.max_version + 1):
        struct = entity(api.key, version, kind)
        for _ in range(6):
            values = kio.values(struct, random)
            yield version, values, kio.entity(struct, values)


@every_api
def test_a_request_is_written_and_read_as_kio_does(kio: Any, api: Any) -> None:
    for version, values, message in samples(kio, api, "request"):
        body = encode_request(api.key, version, values)
        assert body == kio.write(message)
        assert decode_request(api.key, version, memoryview(body)) == message
        assert decode_request(api.key, version, memoryview(body)) == kio.read(type(message), body)


@every_api
def test_a_response_is_written_and_read_as_kio_does(kio: Any, api: Any) -> None:
    for version, values, message in samples(kio, api, "response"):
        body = encode_response(api.key, version, values)
        assert body == kio.write(message)
        assert decode_response(api.key, version, memoryview(body)) == message


@every_api
def test_a_field_left_out_gets_its_default(kio: Any, api: Any) -> None:
    for kind, encode, decode in (
        ("request", encode_request, decode_request),
        ("response", encode_response, decode_response),
    ):
        for version in range(api.min_version, api.max_version + 1):
            message = decode(api.key, version, memoryview(encode(api.key, version, {})))
            for name, field in type(message).__dataclass_fields__.items():
                value = getattr(message, name)
                if field.default.__class__.__module__ != "dataclasses":
                    assert value == field.default, (kind, version, name)
                else:
                    assert not value or hasattr(value, "__dataclass_fields__")


@every_api
def test_a_truncated_request_is_malformed_and_never_anything_else(kio: Any, api: Any) -> None:
    for version, _, message in samples(kio, api, "request"):
        body = memoryview(kio.write(message))
        for length in range(0, len(body), 1 + len(body) // 200):
            with pytest.raises(MalformedRequest):
                decode_request(api.key, version, body[:length])
        longer = memoryview(bytes(body) + b"\0")
        assert decode_request(api.key, version, longer) == decode_request(api.key, version, body)


@every_api
def test_a_corrupted_request_is_decoded_or_malformed(kio: Any, api: Any) -> None:
    random = Random(api.name)
    for version, _, message in samples(kio, api, "request"):
        body = bytearray(kio.write(message))
        for _ in range(20 if body else 0):
            at = random.randrange(len(body))
            damaged = bytearray(body)
            damage = random.choice((b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff\x07", b"\x80\0"))
            damaged[at : at + len(damage)] = damage
            with suppress(MalformedRequest):
                decode_request(api.key, version, memoryview(damaged))


def test_a_count_of_two_billion_is_refused_before_anything_is_allocated() -> None:
    for body in (b"\xff\xff\xff\xff\x07", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\xff\xff\x01"):
        with pytest.raises(MalformedRequest):
            decode_request(ApiKey.CREATE_TOPICS, 7, memoryview(body))
    with pytest.raises(MalformedRequest):
        decode_request(ApiKey.CREATE_TOPICS, 2, memoryview(b"\x7f\xff\xff\xff"))


@pytest.mark.parametrize("count", [b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x80\0\0\0"])
def test_an_array_that_must_not_be_null_is_malformed_when_it_is(count: bytes) -> None:
    with pytest.raises(MalformedRequest):
        decode_request(ApiKey.DESCRIBE_GROUPS, 0, memoryview(count))


def test_more_items_than_the_limit_are_refused_although_they_fit() -> None:
    groups = ["g"] * (ARRAY_ITEMS_MAX + 1)
    body = encode_request(ApiKey.DESCRIBE_GROUPS, 5, {"groups": groups})
    with pytest.raises(MalformedRequest, match="too many items"):
        decode_request(ApiKey.DESCRIBE_GROUPS, 5, memoryview(body))
    assert decode_request(
        ApiKey.DESCRIBE_GROUPS,
        5,
        memoryview(encode_request(ApiKey.DESCRIBE_GROUPS, 5, {"groups": groups[1:]})),
    ).groups == tuple(groups[1:])


def test_unknown_tagged_fields_are_skipped() -> None:
    body = encode_request(ApiKey.HEARTBEAT, 4, {"group_id": "g", "member_id": "m"})
    assert body[-1:] == b"\0"
    tagged = body[:-1] + b"\x02\x05\x03abc\x90\x4e\x00"
    request = decode_request(ApiKey.HEARTBEAT, 4, memoryview(tagged))
    assert (request.group_id, request.member_id) == ("g", "m")


def test_a_flood_of_tagged_fields_is_malformed() -> None:
    body = encode_request(ApiKey.HEARTBEAT, 4, {"group_id": "g", "member_id": "m"})
    with pytest.raises(MalformedRequest):
        decode_request(ApiKey.HEARTBEAT, 4, memoryview(body[:-1] + b"\x7f" + b"\x05\x00" * 127))


def test_a_tagged_field_that_does_not_fill_its_length_is_malformed() -> None:
    body = encode_response(ApiKey.API_VERSIONS, 3, {"finalized_features_epoch": 7})
    assert body.endswith(b"\x01\x01\x08" + bytes(7) + b"\x07")
    longer = body[: -len(b"\x08") - 8] + b"\x09" + bytes(8) + b"\x07"
    with pytest.raises(MalformedResponse):
        decode_response(ApiKey.API_VERSIONS, 3, memoryview(longer))


def test_one_mapping_answers_every_version() -> None:
    fields = {
        "throttle_time": 5,
        "error_code": 0,
        "generation_id": 3,
        "protocol_type": None,
        "protocol_name": None,
        "leader": "m",
        "skip_assignment": True,
        "member_id": "m",
        "members": [{"member_id": "m", "group_instance_id": "i", "metadata": b"x"}],
    }
    for version in range(10):
        body = encode_response(ApiKey.JOIN_GROUP, version, fields)
        response = decode_response(ApiKey.JOIN_GROUP, version, memoryview(body))
        assert response.leader == "m"
        assert response.members[0].metadata == b"x"
        assert response.protocol_name == (None if version >= 7 else "")


def test_a_field_that_no_version_knows_is_a_bug() -> None:
    with pytest.raises(AssertionError, match="nonsense"):
        encode_response(ApiKey.HEARTBEAT, 0, {"nonsense": 1})
    with pytest.raises(AssertionError, match="members"):
        encode_response(ApiKey.JOIN_GROUP, 0, {"members": [{"members": ()}]})


def test_a_field_of_another_version_is_left_out() -> None:
    assert encode_response(ApiKey.HEARTBEAT, 0, {"throttle_time": 9, "error_code": 25}) == b"\0\x19"


def test_a_path_that_a_version_does_not_have_leads_to_no_fields() -> None:
    assert field_names(ApiKey.OFFSET_FETCH, 8, "response", ("topics",)) == frozenset()
    assert "name" in field_names(ApiKey.OFFSET_FETCH, 8, "response", ("groups", "topics"))


def test_times_are_milliseconds() -> None:
    assert to_ms(timedelta(minutes=1, microseconds=1_500)) == 60_001
    assert to_ms(datetime(1970, 1, 2, tzinfo=UTC)) == 86_400_000
    assert to_ms(17) == 17
    assert to_ms(None) == -1


def test_an_old_commit_that_never_expires_is_read() -> None:
    body = encode_request(ApiKey.OFFSET_COMMIT, 2, {"group_id": "g", "retention_time": -1})
    assert to_ms(decode_request(ApiKey.OFFSET_COMMIT, 2, memoryview(body)).retention_time) == -1
    beyond = encode_request(ApiKey.OFFSET_COMMIT, 2, {"group_id": "g", "retention_time": 2**63 - 1})
    with pytest.raises(MalformedRequest):
        decode_request(ApiKey.OFFSET_COMMIT, 2, memoryview(beyond))


def test_an_unknown_error_code_in_a_response_is_malformed() -> None:
    with pytest.raises(MalformedResponse):
        decode_response(ApiKey.HEARTBEAT, 0, memoryview(b"\x7f\xff"))
