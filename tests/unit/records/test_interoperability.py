"""Batches as other clients write and read them: aiokafka, kafka-python and librdkafka."""

import socket
from collections.abc import Iterator
from struct import pack, unpack
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from confluent_kafka import Consumer, Producer, TopicPartition
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from duolog.records.builder import build_batch
from duolog.records.checksum import is_intact
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record
from duolog.records.validation import check_batch, check_records

MIB = 1 << 20
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]
KAFKA_PYTHON_CODECS = [0, 1]
"""Those for which kafka-python needs no package of its own."""

PAYLOADS = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.builds(
        Record,
        key=PAYLOADS,
        value=PAYLOADS,
        headers=st.lists(st.tuples(st.text(max_size=5), PAYLOADS), max_size=2).map(tuple),
        timestamp=st.integers(0, 1 << 45),
        offset=st.none(),
    ),
    min_size=1,
    max_size=10,
)
PRODUCER: dict[str, Any] = {"producer_id": 12, "producer_epoch": 3, "base_sequence": 45}


def numbered(records: list[Record]) -> list[Record]:
    return [record._replace(offset=offset) for offset, record in enumerate(records)]


def read(batch: bytes | bytearray | memoryview) -> list[Record]:
    """What we make of a batch that a broker would take."""
    view = memoryview(batch)
    header = check_batch(view, bytes_max=MIB)
    check_records(view, header, decompressed_bytes_max=MIB, keys_required=False)
    return list(iter_records(view, decompressed_bytes_max=MIB))


def built_by(builder_class: type, records: list[Record], compression: int) -> bytes:
    builder = builder_class(
        magic=2, compression_type=compression, is_transactional=0, batch_size=MIB, **PRODUCER
    )
    for offset, record in enumerate(records):
        builder.append(offset, record.timestamp, record.key, record.value, list(record.headers))
    return bytes(builder.build())


def read_by(batch_class: type, batch: bytearray) -> list[Record]:
    theirs = batch_class(bytes(batch))
    assert theirs.validate_crc()
    return [
        Record(record.key, record.value, tuple(record.headers), record.timestamp, record.offset)
        for record in theirs
    ]


@pytest.mark.parametrize("builder_class", [AiokafkaBuilder, KafkaPythonBuilder])
@given(records=RECORDS)
@settings(max_examples=40, deadline=None)
def test_an_uncompressed_batch_is_the_same_byte_by_byte(
    builder_class: type, records: list[Record]
) -> None:
    theirs = built_by(builder_class, records, 0)
    epoch = read_header(theirs).leader_epoch
    assert build_batch(records, leader_epoch=epoch, **PRODUCER) == theirs


@pytest.mark.parametrize(
    ("builder_class", "batch_class", "compression"),
    [(AiokafkaBuilder, AiokafkaBatch, compression) for compression in range(5)]
    + [(KafkaPythonBuilder, KafkaPythonBatch, codec) for codec in KAFKA_PYTHON_CODECS],
)
@given(records=RECORDS)
@settings(max_examples=25, deadline=None)
def test_we_read_each_others_batches(
    builder_class: type, batch_class: type, compression: int, records: list[Record]
) -> None:
    expected = numbered(records)
    assert read(built_by(builder_class, records, compression)) == expected
    assert read_by(batch_class, build_batch(records, compression=compression)) == expected


class Librdkafka:
    """librdkafka's broker inside a client: it stores what it gets and hands it out unopened."""

    def __init__(self, compression: str) -> None:
        self.producer = Producer(
            {
                "test.mock.num.brokers": 1,
                "compression.type": compression,
                "linger.ms": 100,
                "log_level": 0,
            }
        )
        (broker,) = self.producer.list_topics("topic", timeout=10).brokers.values()
        self.address = (broker.host, broker.port)
        self._socket = socket.create_connection(self.address, timeout=10)

    def close(self) -> None:
        self._socket.close()

    def stored(self) -> bytes:
        """The batches of partition 0, by Fetch version 4."""
        body = pack(">iiiib", -1, 1_000, 1, MIB, 0) + pack(">ih5si", 1, 5, b"topic", 1)
        response = self._call(1, 4, body + pack(">iqi", 0, 0, MIB))
        records_at = 4 + 4 + 2 + 5 + 4 + 4 + 2 + 8 + 8 + 4
        (length,) = unpack(">i", response[records_at : records_at + 4])
        return response[records_at + 4 : records_at + 4 + length]

    def store(self, batch: bytearray) -> None:
        """By Produce version 3."""
        body = pack(">hhi", -1, -1, 5_000) + pack(">ih5si", 1, 5, b"topic", 1)
        response = self._call(0, 3, body + pack(">ii", 0, len(batch)) + batch)
        (error,) = unpack(">h", response[19:21])
        assert error == 0

    def _call(self, api_key: int, api_version: int, body: bytes) -> bytes:
        request = pack(">hhih", api_key, api_version, 1, -1) + body
        self._socket.sendall(pack(">i", len(request)) + request)
        with self._socket.makefile("rb") as stream:
            (length,) = unpack(">i", stream.read(4))
            return stream.read(length)[4:]


@pytest.fixture
def librdkafka(compression: str) -> Iterator[Librdkafka]:
    mock = Librdkafka(compression)
    yield mock
    mock.close()


MESSAGES = [
    Record(b"key%d" % i, b"value of some length " * 20, (("h", b"%d" % i), ("n", None)), 1_000 + i)
    for i in range(50)
]


@pytest.mark.parametrize("compression", CODECS)
def test_we_read_what_librdkafka_writes(librdkafka: Librdkafka, compression: str) -> None:
    for message in MESSAGES:
        librdkafka.producer.produce(
            "topic",
            message.value,
            message.key,
            partition=0,
            headers=list(message.headers),
            timestamp=message.timestamp,
        )
    assert librdkafka.producer.flush(10) == 0
    stored = librdkafka.stored()
    assert is_intact(stored)
    assert read_header(stored).compression == CODECS.index(compression)
    assert read(stored) == numbered(MESSAGES)


@pytest.mark.parametrize("compression", CODECS)
def test_librdkafka_reads_what_we_write(librdkafka: Librdkafka, compression: str) -> None:
    librdkafka.store(build_batch(MESSAGES, compression=CODECS.index(compression)))
    host, port = librdkafka.address
    consumer = Consumer(
        {"bootstrap.servers": f"{host}:{port}", "group.id": "g", "check.crcs": True, "log_level": 0}
    )
    consumer.assign([TopicPartition("topic", 0, 0)])
    messages = consumer.consume(len(MESSAGES), timeout=10)
    consumer.close()
    assert [
        Record(m.key(), m.value(), tuple(m.headers()), m.timestamp()[1], m.offset())
        for m in messages
    ] == numbered(MESSAGES)
