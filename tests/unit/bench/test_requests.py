"""Frames are held against kio, an encoder of the same schemas that we did not write."""

import io
from datetime import timedelta
from struct import pack_into, unpack_from
from typing import Any

from bench import kafka, requests
from kio.schema.create_topics.v2.request import CreateTopicsRequest
from kio.schema.errors import ErrorCode
from kio.schema.fetch.v11 import response as fetched
from kio.schema.fetch.v11.request import FetchRequest
from kio.schema.produce.v8 import response as produced
from kio.schema.produce.v8.request import ProduceRequest
from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32, i32Timedelta, i64

TOPIC = TopicName("some-topic")
ERROR = ErrorCode.not_leader_or_follower


def decode(frame: bytes, schema: type[Any]) -> Any:
    (length,) = unpack_from(">i", frame)
    body = frame[4:]
    assert length == len(body)
    header, position = entity_reader(RequestHeader)(body, 0)
    assert header.client_id == "bench"
    entity, read = entity_reader(schema)(body, position)
    assert position + read == len(body)
    return entity


def response_frame(entity: Any) -> bytes:
    """Its length and correlation id are zero: only places matter here."""
    buffer = io.BytesIO()
    buffer.write(bytes(8))
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def test_a_produce_frame_is_what_kio_reads() -> None:
    request = requests.produce(TOPIC, b"a batch", acks=1)
    entity = decode(request.frame, ProduceRequest)
    (topic,) = entity.topic_data
    (partition,) = topic.partition_data
    assert (entity.acks, topic.name, partition.index) == (1, TOPIC, 0)
    assert bytes(partition.records) == b"a batch"


def test_a_fetch_frame_is_what_kio_reads() -> None:
    entity = decode(requests.fetch(TOPIC, max_bytes=1000).frame, FetchRequest)
    (topic,) = entity.topics
    (partition,) = topic.partitions
    assert (entity.max_bytes, partition.partition_max_bytes) == (1000, 1000)
    assert (topic.topic, partition.partition, partition.fetch_offset) == (TOPIC, 0, 0)


def test_patching_a_frame_changes_partition_and_offset_only() -> None:
    request = requests.fetch(TOPIC, max_bytes=1000)
    assert request.offset_at is not None
    frame = bytearray(request.frame)
    pack_into(">i", frame, request.partition_at, 7)
    pack_into(">q", frame, request.offset_at, 1 << 40)
    partition = decode(bytes(frame), FetchRequest).topics[0].partitions[0]
    assert (partition.partition, partition.fetch_offset) == (7, 1 << 40)
    assert partition.partition_max_bytes == 1000


def test_the_error_code_of_a_produce_response_is_where_the_request_says() -> None:
    partition = produced.PartitionProduceResponse(
        index=i32(1),
        error_code=ERROR,
        base_offset=i64(-1),
        log_append_time=None,
        log_start_offset=i64(-1),
        record_errors=(),
        error_message=None,
    )
    topic = produced.TopicProduceResponse(name=TOPIC, partition_responses=(partition,))
    response = produced.ProduceResponse(
        responses=(topic,), throttle_time=i32Timedelta.parse(timedelta())
    )
    error_at = requests.produce(TOPIC, b"").error_at
    assert unpack_from(">h", response_frame(response), error_at) == (ERROR.value,)


def test_the_error_code_of_a_fetch_response_is_where_the_request_says() -> None:
    partition = fetched.PartitionData(
        partition_index=i32(1),
        error_code=ERROR,
        high_watermark=i64(0),
        last_stable_offset=i64(0),
        log_start_offset=i64(0),
        aborted_transactions=None,
        records=None,
    )
    topic = fetched.FetchableTopicResponse(topic=TOPIC, partitions=(partition,))
    response = fetched.FetchResponse(
        throttle_time=i32Timedelta.parse(timedelta()),
        error_code=ErrorCode.none,
        session_id=i32(0),
        responses=(topic,),
    )
    error_at = requests.fetch(TOPIC, max_bytes=1).error_at
    assert unpack_from(">h", response_frame(response), error_at) == (ERROR.value,)


def test_a_topic_is_asked_for_with_its_partitions_and_configs() -> None:
    body = kafka.create_topics_body(TOPIC, partitions=8, configs={"segment.bytes": "4096"})
    (topic,) = decode(requests.frame(19, 2, body), CreateTopicsRequest).topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == (TOPIC, 8, 1)
    assert [(config.name, config.value) for config in topic.configs] == [("segment.bytes", "4096")]
