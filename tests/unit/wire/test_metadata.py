"""The Metadata codec, against kio, at every version."""

from contextlib import suppress
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.model.limits import ARRAY_ITEMS_MAX
from duolog.wire.kafka import metadata
from duolog.wire.kafka.apis import ApiKey
from duolog.wire.kafka.errors import MalformedRequest
from duolog.wire.kafka.leaders import NodeEndpoint
from duolog.wire.kafka.messages import encode_request
from duolog.wire.kafka.schema import entity

VERSIONS = range(14)
every_version = pytest.mark.parametrize("version", VERSIONS)

int32s = st.integers(-(2**31), 2**31 - 1)
names = st.text(max_size=20) | st.just("n" * 249)
ids = st.binary(min_size=16, max_size=16).filter(any)
requests = st.fixed_dictionaries(
    {
        "topics": st.none() | st.lists(st.tuples(names, st.none() | ids), min_size=1, max_size=4),
        "allow_auto_topic_creation": st.booleans(),
        "include_cluster_authorized_operations": st.booleans(),
        "include_topic_authorized_operations": st.booleans(),
    }
)


def kio_topics(version: int, topics: Any) -> Any:
    if topics is None:
        return None if version else []
    return [
        {"name": name, "topic_id": topic_id and UUID(bytes=topic_id)} for name, topic_id in topics
    ]


@every_version
@settings(max_examples=12, deadline=None)
@given(plain=requests)
def test_a_request_is_read_as_kio_writes_it(kio: Any, version: int, plain: dict[str, Any]) -> None:
    values = {**plain, "topics": kio_topics(version, plain["topics"])}
    body = kio.bytes_of(ApiKey.METADATA, version, "request", values)
    buffer = memoryview(bytearray(b"before" + body + b"after"))
    request = metadata.parse_request(version, buffer, 6, 6 + len(body))
    wanted = plain["topics"]
    if wanted is not None and version < 10:
        wanted = [(name, None) for name, _ in wanted]
    assert request == metadata.MetadataRequest(
        topics=wanted,
        allow_auto_topic_creation=plain["allow_auto_topic_creation"] if version >= 4 else True,
        include_cluster_authorized_operations=8 <= version <= 10
        and plain["include_cluster_authorized_operations"],
        include_topic_authorized_operations=version >= 8
        and plain["include_topic_authorized_operations"],
    )


def test_no_topics_means_all_in_version_0_and_none_later() -> None:
    assert metadata.parse_request(0, memoryview(bytes(4)), 0, 4).topics is None
    assert metadata.parse_request(1, memoryview(bytes(4)), 0, 4).topics == []
    assert metadata.parse_request(1, memoryview(b"\xff" * 4), 0, 4).topics is None
    with pytest.raises(MalformedRequest):
        metadata.parse_request(0, memoryview(b"\xff" * 4), 0, 4)


def test_a_topic_can_be_asked_for_by_id_alone() -> None:
    wanted = {"topics": [{"topic_id": UUID(int=7), "name": None}]}
    body = memoryview(encode_request(ApiKey.METADATA, 12, wanted))
    assert metadata.parse_request(12, body, 0, len(body)).topics == [(None, UUID(int=7).bytes)]


@every_version
def test_a_damaged_request_is_malformed_or_read(version: int) -> None:
    wanted = {"topics": [{"topic_id": UUID(int=7), "name": "topic"}, {"name": "t"}]}
    body = memoryview(encode_request(ApiKey.METADATA, version, wanted))
    for cut in range(len(body)):
        for buffer in (body, body[:cut]):
            with pytest.raises(MalformedRequest):
                metadata.parse_request(version, buffer, 0, cut)
        for damage in (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\0\0\0", b"\0", b"\xfe"):
            damaged = memoryview(bytes(body[:cut]) + damage + bytes(body[cut + len(damage) :]))
            with suppress(MalformedRequest):
                metadata.parse_request(version, damaged, 0, len(damaged))
    longer = memoryview(bytes(body) + b"\0")
    assert metadata.parse_request(version, longer, 0, len(longer)) == metadata.parse_request(
        version, body, 0, len(body)
    )


def test_all_topics_are_meant_as_librdkafka_asks_for_them() -> None:
    body = memoryview(b"\x00\x00\x00\x00\x01\x00\x00")
    assert metadata.parse_request(13, body, 0, len(body)).topics is None


def test_more_topics_than_the_limit_are_malformed_although_they_fit() -> None:
    wanted = {"topics": [{"name": "t"}] * (ARRAY_ITEMS_MAX + 1)}
    for version in (1, 9):
        body = memoryview(encode_request(ApiKey.METADATA, version, wanted))
        with pytest.raises(MalformedRequest, match="too many"):
            metadata.parse_request(version, body, 0, len(body))


def test_unknown_tagged_fields_are_skipped() -> None:
    unknown = b"\x02\x05\x03abc\x90\x4e\x00"
    body = memoryview(b"\x02" + b"\x02t" + unknown + b"\x01\x00\x00" + unknown)
    assert metadata.parse_request(9, body, 0, len(body)).topics == [("t", None)]


error_codes = st.sampled_from([-1, 0, 3, 5, 129])
nodes = st.lists(int32s, max_size=3).map(tuple) | st.just(tuple(range(130)))
partitions = st.tuples(error_codes, int32s, int32s, int32s, nodes, nodes, nodes)
topics = st.tuples(
    error_codes, st.none() | names, ids, st.booleans(), st.lists(partitions, max_size=3), int32s
)
brokers = st.builds(NodeEndpoint, int32s, names, int32s, st.none() | names)


@every_version
@settings(max_examples=12, deadline=None)
@given(
    brokers=st.lists(brokers, max_size=3),
    cluster_id=st.none() | names,
    controller_id=int32s,
    topics=st.lists(topics, max_size=3),
    throttle_ms=int32s,
    operations=int32s,
    error_code=error_codes,
)
def test_a_response_is_written_as_kio_writes_it(
    kio: Any,
    version: int,
    brokers: list[NodeEndpoint],
    cluster_id: str | None,
    controller_id: int,
    topics: list[Any],
    throttle_ms: int,
    operations: int,
    error_code: int,
) -> None:
    ours = metadata.encode_response(
        version,
        brokers,
        cluster_id,
        controller_id,
        [metadata.encode_topic(version, *topic) for topic in topics],
        throttle_ms=throttle_ms,
        cluster_authorized_operations=operations,
        error_code=error_code,
    )
    values = {
        "throttle_time": throttle_ms,
        "brokers": [broker._asdict() for broker in brokers],
        "cluster_id": cluster_id,
        "controller_id": controller_id,
        "topics": [kio_topic(version, *topic) for topic in topics],
        "cluster_authorized_operations": operations,
        "error_code": error_code,
    }
    expected = kio.entity(entity(ApiKey.METADATA, version, "response"), values)
    assert ours == kio.write(expected)
    assert kio.read(type(expected), ours) == expected


def kio_topic(
    version: int,
    error_code: int,
    name: str | None,
    topic_id: bytes,
    is_internal: bool,
    partitions: list[Any],
    operations: int,
) -> dict[str, Any]:
    keys = (
        "error_code",
        "partition_index",
        "leader_id",
        "leader_epoch",
        "replica_nodes",
        "isr_nodes",
        "offline_replicas",
    )
    return {
        "error_code": error_code,
        "name": "" if name is None and version < 12 else name,
        "topic_id": UUID(bytes=topic_id),
        "is_internal": is_internal,
        "partitions": [dict(zip(keys, partition, strict=True)) for partition in partitions],
        "topic_authorized_operations": operations,
    }


def test_remembered_replica_lists_are_bounded() -> None:
    for number in range(metadata.REPLICA_LISTS_REMEMBERED_MAX + 10):
        for version in (0, 5, 9):
            metadata.encode_topic(version, 0, "t", b"", False, [(0, 0, 0, 0, (number,), (), ())])
    for known in metadata._legacy_lists_v0, metadata._legacy_lists_v5, metadata._compact_lists:
        assert 0 < len(known) <= metadata.REPLICA_LISTS_REMEMBERED_MAX
