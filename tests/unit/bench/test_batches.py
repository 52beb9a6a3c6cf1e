"""The benchmark's batches are held against the broker's own reader, which did not make them."""

import crc32c
import pytest
from bench.batches import encode_batch, varint
from bench.workloads.payloads import megabyte

from duolog.config.topic import TopicConfig
from duolog.records.header import CRC_FROM, HEADER_BYTES, read_header
from duolog.records.iterator import iter_records


def test_the_header_says_what_the_batch_holds() -> None:
    batch = encode_batch([b"a", b"bc"], timestamp_ms=1_700_000_000_000)
    header = read_header(batch)
    assert header.size == len(batch)
    assert header.crc == crc32c.crc32c(batch[CRC_FROM:])
    assert (header.record_count, header.last_offset_delta, header.compression) == (2, 1, 0)
    assert header.base_timestamp == header.max_timestamp == 1_700_000_000_000


def test_the_records_come_back_from_the_broker_s_reader() -> None:
    values = [b"x" * size for size in (0, 1, 63, 64, 10_000)]
    batch = encode_batch(values, timestamp_ms=5)
    records = list(iter_records(batch, decompressed_bytes_max=1 << 20))
    assert [record.value for record in records] == values
    assert {record.key for record in records} == {None}


def test_a_megabyte_batch_is_one_that_a_topic_takes_by_default() -> None:
    assert 1_000_000 < len(megabyte()) <= TopicConfig().max_message_bytes


@pytest.mark.parametrize(
    ("value", "encoded"), [(0, b"\x00"), (-1, b"\x01"), (1, b"\x02"), (64, b"\x80\x01")]
)
def test_varints_are_zigzagged(value: int, encoded: bytes) -> None:
    assert varint(value) == encoded


def test_an_overhead_of_61_bytes_precedes_the_records() -> None:
    assert len(encode_batch([b""], timestamp_ms=0)) == HEADER_BYTES + 7
