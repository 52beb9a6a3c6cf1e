"""A recognised request means exactly what parsing it would have meant."""

from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.wire.kafka.apis import APIS, ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.frames import encode_header, parse_header
from duolog.wire.kafka.messages import encode_request
from duolog.wire.kafka.produce import ProduceRequest, parse_request, records_after, shape_of

CORRELATION_END = 8
VERSIONS = st.integers(APIS[ApiKey.PRODUCE].min_version, APIS[ApiKey.PRODUCE].max_version)
RECORDS = st.binary(max_size=300)


def frame_of(version: int, records: bytes | None, *, partitions: int = 1) -> bytearray:
    body = encode_request(
        ApiKey.PRODUCE,
        version,
        {
            "transactional_id": None,
            "acks": -1,
            "timeout": 1_000,
            "topic_data": [
                {
                    "name": "orders",
                    "topic_id": None,
                    "partition_data": [
                        {"index": 3 + n, "records": records} for n in range(partitions)
                    ],
                }
            ],
        },
    )
    return bytearray(encode_header(ApiKey.PRODUCE, version, 7, "client") + body)


def parse(version: int, frame: bytearray) -> tuple[ProduceRequest, memoryview]:
    view = memoryview(frame)
    *_, position = parse_header(view, 0, len(frame))
    return parse_request(version, view, position, len(frame)), view


def learn(version: int, frame: bytearray) -> bytes | None:
    request, view = parse(version, frame)
    return shape_of(version, request, view, CORRELATION_END, len(frame))


@settings(max_examples=200, deadline=None)
@given(VERSIONS, RECORDS, RECORDS)
def test_the_next_request_is_recognised_with_its_own_records(
    version: int, first: bytes, second: bytes
) -> None:
    shape = learn(version, frame_of(version, first))
    assert shape is not None
    following = frame_of(version, second)
    shape_end = CORRELATION_END + len(shape)
    assert bytes(following[CORRELATION_END:shape_end]) == shape
    found = records_after(version, memoryview(following), shape_end, len(following))
    assert found == second


@settings(max_examples=300, deadline=None)
@given(VERSIONS, RECORDS, st.data())
def test_whatever_is_recognised_would_have_been_parsed_alike(
    version: int, records: bytes, data: st.DataObject
) -> None:
    shape = learn(version, frame_of(version, b"first"))
    assert shape is not None
    frame = frame_of(version, records)
    at = data.draw(st.integers(CORRELATION_END + len(shape), len(frame) - 1))
    frame[at : at + data.draw(st.integers(1, 4))] = data.draw(st.binary(max_size=4))
    view = memoryview(frame)
    found = records_after(version, view, CORRELATION_END + len(shape), len(frame))
    if found is not None:
        request, _ = parse(version, frame)
        assert request.topics[0][1] == [(3, found)]


@settings(max_examples=50, deadline=None)
@given(VERSIONS, RECORDS)
def test_a_cut_off_request_is_not_recognised(version: int, records: bytes) -> None:
    shape = learn(version, frame_of(version, b"first"))
    assert shape is not None
    whole = frame_of(version, records)
    for end in range(CORRELATION_END + len(shape), len(whole)):
        frame = whole[:end]
        found = records_after(version, memoryview(frame), CORRELATION_END + len(shape), end)
        try:
            parse(version, frame)
        except MalformedRequest:
            assert found is None


def test_requests_with_several_partitions_or_no_records_have_no_shape() -> None:
    assert learn(8, frame_of(8, b"x", partitions=2)) is None
    assert learn(8, frame_of(8, None)) is None
