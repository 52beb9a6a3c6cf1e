"""The Fetch codec, against kio, at every version."""

from contextlib import suppress
from itertools import pairwise
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka import fetch
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.leaders import NodeEndpoint
from duolog.wire.kafka.messages import encode_request
from duolog.wire.kafka.schema import entity

VERSIONS = range(4, 19)
every_version = pytest.mark.parametrize("version", VERSIONS)

int8s = st.integers(-(2**7), 2**7 - 1)
int32s = st.integers(-(2**31), 2**31 - 1)
int64s = st.integers(-(2**63), 2**63 - 1)
names = st.text(max_size=20) | st.just("n" * 249)
ids = st.binary(min_size=16, max_size=16).filter(any)

wanted = st.fixed_dictionaries(
    {
        "partition": int32s,
        "current_leader_epoch": int32s,
        "fetch_offset": int64s,
        "last_fetched_epoch": int32s,
        "log_start_offset": int64s,
        "partition_max_bytes": int32s,
    },
    optional={"replica_directory_id": ids.map(lambda raw: UUID(bytes=raw))},
)
requests = st.fixed_dictionaries(
    {
        "cluster_id": st.none() | names,
        "replica_id": int32s,
        "replica_epoch": int64s,
        "max_wait": int32s,
        "min_bytes": int32s,
        "max_bytes": int32s,
        "isolation_level": int8s,
        "session_id": int32s,
        "session_epoch": int32s,
        "topics": st.lists(st.tuples(names, ids, st.lists(wanted, max_size=4)), max_size=3),
        "forgotten": st.lists(st.tuples(names, ids, st.lists(int32s, max_size=3)), max_size=2),
        "rack_id": names,
    }
)


def kio_values(plain: dict[str, Any]) -> dict[str, Any]:
    return {
        **plain,
        "replica_state": {
            "replica_id": plain["replica_id"],
            "replica_epoch": plain["replica_epoch"],
        },
        "topics": [
            {"topic": name, "topic_id": UUID(bytes=topic_id), "partitions": partitions}
            for name, topic_id, partitions in plain["topics"]
        ],
        "forgotten_topics_data": [
            {"topic": name, "topic_id": UUID(bytes=topic_id), "partitions": partitions}
            for name, topic_id, partitions in plain["forgotten"]
        ],
    }


def topic_of(version: int, name: str, topic_id: bytes) -> str | bytes:
    return topic_id if version >= 13 else name


def expected_row(version: int, row: dict[str, Any]) -> tuple[int, ...]:
    return (
        row["partition"],
        row["current_leader_epoch"] if version >= 9 else -1,
        row["fetch_offset"],
        row["last_fetched_epoch"] if version >= 12 else -1,
        row["log_start_offset"] if version >= 5 else -1,
        row["partition_max_bytes"],
    )


@every_version
@settings(max_examples=12, deadline=None)
@given(plain=requests)
def test_a_request_is_read_as_kio_writes_it(kio: Any, version: int, plain: dict[str, Any]) -> None:
    body = kio.bytes_of(ApiKey.FETCH, version, "request", kio_values(plain))
    buffer = memoryview(bytearray(b"before" + body + b"after"))
    request = fetch.parse_request(version, buffer, 6, 6 + len(body))
    assert request == fetch.FetchRequest(
        max_wait_ms=plain["max_wait"],
        min_bytes=plain["min_bytes"],
        max_bytes=plain["max_bytes"],
        isolation_level=plain["isolation_level"],
        session_id=plain["session_id"] if version >= 7 else 0,
        session_epoch=plain["session_epoch"] if version >= 7 else -1,
        replica_id=plain["replica_id"],
        replica_epoch=plain["replica_epoch"] if version >= 15 else -1,
        topics=[
            (topic_of(version, name, topic_id), [expected_row(version, row) for row in rows])  # type: ignore[misc]
            for name, topic_id, rows in plain["topics"]
        ],
        forgotten=[
            (topic_of(version, name, topic_id), rows) for name, topic_id, rows in plain["forgotten"]
        ]
        if version >= 7
        else [],
        rack_id=plain["rack_id"] if version >= 11 else "",
        cluster_id=plain["cluster_id"] if version >= 12 else None,
    )


def small_request() -> dict[str, Any]:
    row = {"partition": 1, "fetch_offset": 2, "partition_max_bytes": 3, "log_start_offset": 4}
    tagged_row = {**row, "replica_directory_id": UUID(int=7)}
    topic = {"topic": "t", "topic_id": UUID(int=5), "partitions": [row, tagged_row]}
    forgotten = {"topic": "f", "topic_id": UUID(int=6), "partitions": [8, 9]}
    return {
        "max_wait": 1,
        "topics": [topic],
        "forgotten_topics_data": [forgotten],
        "rack_id": "rack",
        "cluster_id": "cluster",
        "replica_state": {"replica_id": 3, "replica_epoch": 4},
    }


@every_version
def test_a_request_cut_anywhere_is_malformed(version: int) -> None:
    body = memoryview(encode_request(ApiKey.FETCH, version, small_request()))
    fetch.parse_request(version, body, 0, len(body))
    for cut in range(len(body)):
        for buffer in (body, body[:cut]):
            with pytest.raises(MalformedRequest):
                fetch.parse_request(version, buffer, 0, cut)
    longer = memoryview(bytes(body) + b"\0")
    assert fetch.parse_request(version, longer, 0, len(longer)) == fetch.parse_request(
        version, body, 0, len(body)
    )


@every_version
def test_a_request_with_any_bytes_damaged_is_read_or_malformed(version: int) -> None:
    body = encode_request(ApiKey.FETCH, version, small_request())
    for at in range(len(body)):
        for damage in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0", b"\xfe"):
            damaged = memoryview(body[:at] + damage + body[at + len(damage) :])
            with suppress(MalformedRequest):
                fetch.parse_request(version, damaged, 0, len(damaged))


def test_unknown_tagged_fields_are_skipped() -> None:
    unknown = b"\x02\x05\x03abc\x90\x4e\x00"
    row = b"\0\0\0\7" + bytes(28)
    head = bytes(25)
    rows = b"\x03" + row + unknown + row + b"\0"
    body = memoryview(head + b"\x02\x02t" + rows + unknown + b"\x01" + b"\x01" + unknown)
    request = fetch.parse_request(12, body, 0, len(body))
    assert request.topics == [("t", [(7, 0, 0, 0, 0, 0), (7, 0, 0, 0, 0, 0)])]


def test_a_cluster_id_that_does_not_fill_its_field_is_malformed() -> None:
    head = bytes(25) + b"\x01\x01\x01"
    for cluster_id, fills in (
        (b"\x03\x03ab", True),
        (b"\x04\x03abc", False),
        (b"\x01\x00", True),
        (b"\x02\x00a", False),
    ):
        body = memoryview(head + b"\x01\x00" + cluster_id)
        if fills:
            fetch.parse_request(12, body, 0, len(body))
        else:
            with pytest.raises(MalformedRequest):
                fetch.parse_request(12, body, 0, len(body))


def test_a_null_rack_or_topic_is_malformed() -> None:
    legacy, compact = bytes(25), bytes(25)
    for version, body in (
        (11, legacy + bytes(8) + b"\xff\xff"),
        (11, legacy + b"\0\0\0\1\xff\xff" + bytes(10)),
        (12, compact + b"\x01\x01\x00\x00"),
        (12, compact + b"\x02\x00\x01\x00\x01\x01\x00"),
    ):
        with pytest.raises(MalformedRequest, match=r"null|negative"):
            fetch.parse_request(version, memoryview(body), 0, len(body))


def test_more_partitions_than_the_limit_are_malformed_although_they_fit() -> None:
    topic = {"topic": "t", "partitions": [{"partition": 0}] * (ARRAY_ITEMS_MAX // 2)}
    for version in (4, 12):
        body = memoryview(encode_request(ApiKey.FETCH, version, {"topics": [topic, topic]}))
        with pytest.raises(MalformedRequest, match="too many"):
            fetch.parse_request(version, body, 0, len(body))


error_codes = st.sampled_from([-1, 0, 1, 6, 75])
records = st.none() | st.binary(max_size=20) | st.sampled_from([b"x" * 127, b"x" * 20_000])
rows = st.tuples(int32s, error_codes, int64s, int64s, int64s, int32s, records)
answers = st.lists(st.tuples(names, ids, st.lists(rows, max_size=3)), max_size=3)
pairs = st.none() | st.tuples(st.integers(0, 9), st.integers(0, 99))
endpoints = st.lists(
    st.builds(NodeEndpoint, int32s, st.text(max_size=9), int32s, st.none() | st.text(max_size=9)),
    max_size=2,
)


class Opaque:
    """Records that only the caller understands."""

    def __init__(self, data: bytes) -> None:
        self.data = data


def fetched(row: Any) -> Any:
    *fields, data = row
    return (*fields, None if data is None else Opaque(data), len(data or b""))


@every_version
@settings(max_examples=12, deadline=None)
@given(
    answer=answers,
    throttle_ms=int32s,
    error_code=error_codes,
    session_id=int32s,
    read_committed=st.booleans(),
    leader=pairs,
    diverging=pairs,
    nodes=endpoints,
)
def test_a_response_is_written_as_kio_writes_it(
    kio: Any,
    version: int,
    answer: Any,
    throttle_ms: int,
    error_code: int,
    session_id: int,
    read_committed: bool,
    leader: tuple[int, int] | None,
    diverging: tuple[int, int] | None,
    nodes: list[NodeEndpoint],
) -> None:
    places = [
        (topic_of(version, name, topic_id), row[0])
        for name, topic_id, rows in answer
        for row in rows
    ]
    chunks, total = fetch.encode_response(
        version,
        throttle_ms,
        error_code,
        session_id,
        [
            (topic_of(version, name, topic_id), [fetched(row) for row in rows])
            for name, topic_id, rows in answer
        ],
        read_committed=read_committed,
        current_leaders=None if leader is None else dict.fromkeys(places, leader),
        diverging_epochs=None if diverging is None else dict.fromkeys(places, diverging),
        node_endpoints=nodes,
    )
    for before, after in pairwise(chunks):
        assert isinstance(before, bytes) != isinstance(after, bytes)
    body = b"".join(chunk if isinstance(chunk, bytes) else chunk.data for chunk in chunks)
    assert total == len(body)

    tags = {}
    if leader is not None:
        tags["current_leader"] = {"leader_id": leader[0], "leader_epoch": leader[1]}
    if diverging is not None:
        tags["diverging_epoch"] = {"epoch": diverging[0], "end_offset": diverging[1]}
    values = {
        "throttle_time": throttle_ms,
        "error_code": error_code,
        "session_id": session_id,
        "node_endpoints": [node._asdict() for node in nodes],
        "responses": [
            {
                "topic": name,
                "topic_id": UUID(bytes=topic_id),
                "partitions": [{**kio_row(row, read_committed), **tags} for row in rows],
            }
            for name, topic_id, rows in answer
        ],
    }
    expected = kio.entity(entity(ApiKey.FETCH, version, "response"), values)
    assert body == kio.write(expected)
    assert kio.read(type(expected), body) == expected


def kio_row(row: Any, read_committed: bool) -> dict[str, Any]:
    index, error_code, high, stable, log_start, replica, data = row
    return {
        "partition_index": index,
        "error_code": error_code,
        "high_watermark": high,
        "last_stable_offset": stable,
        "log_start_offset": log_start,
        "aborted_transactions": [] if read_committed else None,
        "preferred_read_replica": replica,
        "records": data or b"",
    }


def test_records_are_passed_on_untouched_between_the_bytes_that_frame_them() -> None:
    first, second = object(), object()
    row = (0, 0, 9, 9, 0, -1)
    chunks, total = fetch.encode_response(
        11, 0, 0, 0, [("t", [(*row, first, 100), (*row, None, 0), (*row, second, 50)])]
    )
    assert [chunk if not isinstance(chunk, bytes) else bytes for chunk in chunks] == [
        bytes,
        first,
        bytes,
        second,
    ]
    assert total == 150 + sum(len(chunk) for chunk in chunks if isinstance(chunk, bytes))
