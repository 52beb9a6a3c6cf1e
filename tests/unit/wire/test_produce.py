"""The Produce codec, against kio, at every version."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka import produce
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.frames import response_prefix
from duolog.wire.kafka.leaders import NodeEndpoint
from duolog.wire.kafka.messages import encode_request
from duolog.wire.kafka.schema import entity

VERSIONS = range(3, 14)
every_version = pytest.mark.parametrize("version", VERSIONS)

int16s = st.integers(-(2**15), 2**15 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
names = st.text(max_size=20) | st.just("n" * 249)
ids = st.binary(min_size=16, max_size=16).filter(any)
records = st.none() | st.binary(max_size=20) | st.sampled_from([b"x" * 127, b"x" * 20_000])
topics = st.lists(
    st.tuples(names, ids, st.lists(st.tuples(int32s, records), max_size=3)), max_size=3
)
requests = st.fixed_dictionaries(
    {"transactional_id": st.none() | names, "acks": int16s, "timeout": int32s, "topics": topics}
)


def kio_request(kio: Any, version: int, plain: dict[str, Any]) -> bytes:
    topic_data = [
        {
            "name": name,
            "topic_id": UUID(bytes=topic_id),
            "partition_data": [{"index": index, "records": data} for index, data in partitions],
        }
        for name, topic_id, partitions in plain["topics"]
    ]
    values = {**plain, "topic_data": topic_data}
    return kio.bytes_of(ApiKey.PRODUCE, version, "request", values)  # type: ignore[no-any-return]


@every_version
@settings(max_examples=12, deadline=None)
@given(plain=requests)
def test_a_request_is_read_as_kio_writes_it(kio: Any, version: int, plain: dict[str, Any]) -> None:
    body = kio_request(kio, version, plain)
    buffer = memoryview(bytearray(b"before" + body + b"after"))
    request = produce.parse_request(version, buffer, 6, 6 + len(body))
    assert request.transactional_id == plain["transactional_id"]
    assert (request.acks, request.timeout_ms) == (plain["acks"], plain["timeout"])
    assert request.topics == [
        (topic_id if version >= 13 else name, partitions)
        for name, topic_id, partitions in plain["topics"]
    ]


def test_records_are_slices_of_the_buffer() -> None:
    body = encode_request(ApiKey.PRODUCE, 9, one_topic(b"records"))
    buffer = bytearray(body)
    request = produce.parse_request(9, memoryview(buffer), 0, len(buffer))
    _, [(_, found), _] = request.topics[0]
    assert found is not None
    buffer[buffer.index(b"records")] = ord("R")
    assert bytes(found) == b"Records"


def one_topic(data: bytes | None, name: str = "t") -> dict[str, Any]:
    partitions = [{"index": 1, "records": data}, {"index": 2, "records": data}]
    topic = {"name": name, "topic_id": UUID(int=5), "partition_data": partitions}
    return {"transactional_id": "x", "acks": -1, "timeout": 9, "topic_data": [topic]}


@every_version
def test_a_request_cut_anywhere_is_malformed(version: int) -> None:
    body = memoryview(encode_request(ApiKey.PRODUCE, version, one_topic(b"r" * 200)))
    produce.parse_request(version, body, 0, len(body))
    for cut in range(len(body)):
        for buffer in (body, body[:cut]):
            with pytest.raises(MalformedRequest):
                produce.parse_request(version, buffer, 0, cut)
    longer = memoryview(bytes(body) + b"\0")
    assert produce.parse_request(version, longer, 0, len(longer)) == produce.parse_request(
        version, body, 0, len(body)
    )


@every_version
def test_a_request_with_any_bytes_damaged_is_read_or_malformed(version: int) -> None:
    body = encode_request(ApiKey.PRODUCE, version, one_topic(b"r" * 5))
    for at in range(len(body)):
        for damage in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0", b"\xfe"):
            damaged = memoryview(body[:at] + damage + body[at + len(damage) :])
            with suppress(MalformedRequest):
                produce.parse_request(version, damaged, 0, len(damaged))


def test_unknown_tagged_fields_are_skipped() -> None:
    unknown = b"\x02\x05\x03abc\x90\x4e\x00"
    partition = b"\0\0\0\7" + b"\x04abc" + unknown
    topic = b"\x02t" + b"\x02" + partition + unknown
    body = memoryview(b"\0" + b"\xff\xff" + b"\0\0\0\1" + b"\x02" + topic + unknown)
    topics: Any = produce.parse_request(9, body, 0, len(body)).topics
    assert topics == [("t", [(7, b"abc")])]


def test_a_padded_length_means_what_a_short_one_means() -> None:
    """Zero in two bytes is still null, and never moves the parser backwards."""
    head = b"\x80\0" + b"\xff\xff" + b"\0\0\0\1" + b"\x82\0"
    for name, accepted in ((b"\x82\0t", True), (b"\x80\0", False), (b"\0", False)):
        body = memoryview(head + name + b"\x82\0" + b"\0\0\0\7\x80\0\0" + b"\0\0")
        if accepted:
            request = produce.parse_request(9, body, 0, len(body))
            assert request.transactional_id is None
            assert request.topics == [("t", [(7, None)])]
        else:
            with pytest.raises(MalformedRequest, match="null"):
                produce.parse_request(9, body, 0, len(body))


def test_more_partitions_than_the_limit_are_malformed_although_they_fit() -> None:
    row = b"\0\0\0\0\xff\xff\xff\xff"
    half = ARRAY_ITEMS_MAX // 2
    topic = b"\0\1t" + half.to_bytes(4, "big") + row * half
    for count, fits in ((1, True), (2, False)):
        head = b"\xff\xff\0\1\0\0\0\0" + count.to_bytes(4, "big")
        body = memoryview(head + topic * count)
        if fits:
            produce.parse_request(3, body, 0, len(body))
        else:
            with pytest.raises(MalformedRequest, match="too many"):
                produce.parse_request(3, body, 0, len(body))


@pytest.mark.parametrize(
    "body",
    [
        b"\xff\xfe\0\1\0\0\0\0\0\0\0\0",
        b"\xff\xff\0\1\0\0\0\0\0\0\0\1\xff\xff\0\0\0\0",
        b"\xff\xff\0\1\0\0\0\0\0\0\0\1\0\1t\xff\xff\xff\xff",
        b"\xff\xff\0\1\0\0\0\0\0\0\0\1\0\1t\0\0\0\1\0\0\0\0\xff\xff\xff\xfe",
    ],
    ids=["transactional id", "topic name", "partitions", "records"],
)
def test_a_negative_length_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedRequest):
        produce.parse_request(3, memoryview(body), 0, len(body))


def test_a_null_topic_list_is_malformed() -> None:
    for version, body in ((3, b"\xff\xff\0\1\0\0\0\0\xff\xff\xff\xff"), (9, b"\0\0\1\0\0\0\0\0\0")):
        with pytest.raises(MalformedRequest):
            produce.parse_request(version, memoryview(body), 0, len(body))


error_codes = st.sampled_from([-1, 0, 2, 6, 87])
seconds = st.integers(0, 2**33).map(lambda value: 1_000 * value)
rows = st.tuples(
    int32s, error_codes, int64s, st.just(-1) | seconds, int64s, st.none() | st.text(max_size=9)
)
answers = st.lists(st.tuples(names, ids, st.lists(rows, max_size=3)), max_size=3)
leader_pairs = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 99))
endpoints = st.lists(
    st.builds(NodeEndpoint, int32s, st.text(max_size=9), int32s, st.none() | st.text(max_size=9)),
    max_size=2,
)


@every_version
@settings(max_examples=12, deadline=None)
@given(answer=answers, throttle_ms=int32s, leader=leader_pairs, nodes=endpoints)
def test_a_response_is_written_as_kio_writes_it(
    kio: Any, version: int, answer: Any, throttle_ms: int, leader: Any, nodes: list[NodeEndpoint]
) -> None:
    ours = produce.encode_response(
        version,
        [(topic_id if version >= 13 else name, rows) for name, topic_id, rows in answer],
        throttle_ms,
        current_leaders={
            (topic_id if version >= 13 else name, row[0]): leader
            for name, topic_id, rows in answer
            for row in rows
        }
        if leader is not None
        else None,
        node_endpoints=nodes,
    )
    values = {
        "throttle_time": throttle_ms,
        "node_endpoints": [node._asdict() for node in nodes],
        "responses": [
            {
                "name": name,
                "topic_id": UUID(bytes=topic_id),
                "partition_responses": [kio_row(row, leader) for row in rows],
            }
            for name, topic_id, rows in answer
        ],
    }
    expected = kio.entity(entity(ApiKey.PRODUCE, version, "response"), values)
    assert ours == kio.write(expected)
    assert kio.read(type(expected), ours) == expected


def kio_row(row: Any, leader: tuple[int, int] | None) -> dict[str, Any]:
    index, error_code, base_offset, log_append_time_ms, log_start_offset, error_message = row
    values = {
        "index": index,
        "error_code": error_code,
        "base_offset": base_offset,
        "log_append_time": log_append_time_ms,
        "log_start_offset": log_start_offset,
        "record_errors": [],
        "error_message": error_message,
    }
    if leader is not None:
        values["current_leader"] = {"leader_id": leader[0], "leader_epoch": leader[1]}
    return values


@pytest.mark.parametrize("version", range(produce.TEMPLATES_FROM, 14))
@settings(max_examples=12, deadline=None)
@given(name=names, topic_id=ids, row=rows)
def test_a_success_from_a_template_is_what_would_have_been_encoded(
    version: int, name: str, topic_id: bytes, row: Any
) -> None:
    topic = topic_id if version >= 13 else name
    partition, _, base_offset, append_time, start_offset, _ = row
    body = produce.encode_response(
        version, [(topic, [(partition, 0, base_offset, append_time, start_offset, None)])]
    )
    template = produce.SuccessTemplate(version, topic, partition)
    assert template.encode(7, base_offset, append_time, start_offset) == (
        response_prefix(ApiKey.PRODUCE, version, 7, len(body)) + body
    )
