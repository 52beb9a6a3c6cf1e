import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.records.builder import build_batch, rebuild_batch
from duolog.records.checksum import is_intact
from duolog.records.header import (
    DELETE_HORIZON_BIT,
    HEADER_BYTES,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    read_header,
)
from duolog.records.iterator import iter_keys, iter_records
from duolog.records.record import Record

PAYLOADS = st.none() | st.binary(max_size=300)
RECORDS = st.builds(
    Record,
    key=PAYLOADS,
    value=PAYLOADS,
    headers=st.lists(st.tuples(st.text(max_size=10), PAYLOADS), max_size=3).map(tuple),
    timestamp=st.integers(-1, 1 << 50) | st.integers(-(1 << 63), (1 << 63) - 1),
    offset=st.none(),
)
MIB = 1 << 20


def read(batch: bytearray) -> list[Record]:
    return list(iter_records(batch, decompressed_bytes_max=MIB))


@pytest.mark.parametrize("compression", range(5))
@given(
    records=st.lists(RECORDS, min_size=1, max_size=20), base_offset=st.integers(0, (1 << 63) - 21)
)
@settings(max_examples=40, deadline=None)
def test_what_is_built_is_read_back(
    compression: int, records: list[Record], base_offset: int
) -> None:
    batch = build_batch(records, compression=compression, base_offset=base_offset)
    assert is_intact(batch)
    expected = [record._replace(offset=base_offset + i) for i, record in enumerate(records)]
    assert read(batch) == expected


def test_the_header_says_what_was_asked() -> None:
    records = [Record(timestamp=2_000), Record(timestamp=9_000), Record(timestamp=1_000)]
    batch = build_batch(
        records,
        compression=4,
        base_offset=50,
        leader_epoch=3,
        producer_id=7,
        producer_epoch=2,
        base_sequence=11,
        transactional=True,
        control=True,
    )
    header = read_header(batch)
    assert header.size == len(batch)
    assert (header.base_offset, header.next_offset, header.record_count) == (50, 53, 3)
    assert (header.base_timestamp, header.max_timestamp) == (2_000, 9_000)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 11)
    assert (header.leader_epoch, header.compression) == (3, 4)
    assert header.is_transactional
    assert header.is_control
    assert not header.uses_log_append_time


def test_a_plain_batch_has_no_producer() -> None:
    header = read_header(build_batch([Record()]))
    assert (header.producer_id, header.producer_epoch) == (NO_PRODUCER_ID, -1)
    assert (header.base_sequence, header.leader_epoch) == (NO_SEQUENCE, -1)


def test_records_keep_the_offsets_that_they_are_given() -> None:
    records = [Record(b"a", b"1", (), 10, 103), Record(b"b", b"2", (), 11, 107)]
    batch = build_batch(records, base_offset=100, last_offset_delta=9)
    assert read(batch) == records
    assert read_header(batch).next_offset == 110


def test_a_batch_of_no_records_still_covers_its_offsets() -> None:
    batch = build_batch([], base_offset=5, last_offset_delta=4, compression=4, producer_id=1)
    header = read_header(batch)
    assert len(batch) == header.size == HEADER_BYTES
    assert is_intact(batch)
    assert (header.last_offset, header.record_count, header.compression) == (9, 0, 0)
    assert header.max_timestamp == NO_TIMESTAMP
    assert read(batch) == []


@pytest.mark.parametrize("offsets", [(5, 5), (6, 5), (-1, 0)])
def test_offsets_out_of_order_are_a_bug_of_the_caller(offsets: tuple[int, int]) -> None:
    with pytest.raises(AssertionError):
        build_batch([Record(offset=offset) for offset in offsets])


ORIGINAL = [
    Record(b"a", b"old" * 50, (("h", b"1"),), 5_000, 40),
    Record(b"b", None, (), 9_000, 41),
    Record(b"a", b"new" * 50, (("h", None),), 7_000, 42),
    Record(None, b"keyless", (), 6_000, 43),
]


def original(compression: int) -> bytearray:
    return build_batch(
        ORIGINAL,
        compression=compression,
        base_offset=40,
        leader_epoch=6,
        producer_id=77,
        producer_epoch=3,
        base_sequence=1_000,
    )


@pytest.mark.parametrize("compression", range(5))
@pytest.mark.parametrize("kept", [(0, 1, 2, 3), (1, 2), (2,), (0, 3)])
def test_compaction_keeps_offsets_and_sequences(compression: int, kept: tuple[int, ...]) -> None:
    batch = original(compression)
    before = read_header(batch)
    raw = [raw for *_, raw in iter_keys(batch, decompressed_bytes_max=MIB)]
    rebuilt = rebuild_batch(before, [raw[i] for i in kept])
    after = read_header(rebuilt)
    assert is_intact(rebuilt)
    assert read(rebuilt) == [ORIGINAL[i] for i in kept]
    assert (after.base_offset, after.last_offset) == (40, 43)
    assert after.last_sequence == before.last_sequence == 1_003
    assert (after.producer_id, after.producer_epoch, after.leader_epoch) == (77, 3, 6)
    assert after.compression == compression
    assert after.max_timestamp == max(ORIGINAL[i].timestamp for i in kept)
    if len(kept) == len(ORIGINAL):
        assert rebuilt == batch


@pytest.mark.parametrize("compression", range(5))
def test_a_batch_that_lost_every_record_keeps_its_header(compression: int) -> None:
    before = read_header(original(compression))
    rebuilt = rebuild_batch(before, [])
    after = read_header(rebuilt)
    assert len(rebuilt) == HEADER_BYTES
    assert is_intact(rebuilt)
    assert read(rebuilt) == []
    assert (after.base_offset, after.last_offset, after.last_sequence) == (40, 43, 1_003)
    assert after.max_timestamp == before.max_timestamp


def test_compaction_keeps_the_time_of_the_append() -> None:
    batch = build_batch(ORIGINAL, base_offset=40, append_time_ms=99_000)
    raw = [raw for *_, raw in iter_keys(batch, decompressed_bytes_max=MIB)]
    rebuilt = rebuild_batch(read_header(batch), raw[1:2])
    assert [record.timestamp for record in read(rebuilt)] == [99_000]


@pytest.mark.parametrize("horizon_ms", [4_999, 86_400_000, (1 << 63) - 1])
def test_a_delete_horizon_takes_the_place_of_the_base_timestamp(horizon_ms: int) -> None:
    batch = original(0)
    raw = [raw for *_, raw in iter_keys(batch, decompressed_bytes_max=MIB)]
    rebuilt = rebuild_batch(read_header(batch), raw[1:3], delete_horizon_ms=horizon_ms)
    header = read_header(rebuilt)
    assert header.attributes & DELETE_HORIZON_BIT
    assert header.base_timestamp == horizon_ms
    assert header.max_timestamp == 9_000
    assert read(rebuilt) == ORIGINAL[1:3]
    assert is_intact(rebuilt)


def test_no_timestamp_is_too_far_from_the_horizon() -> None:
    records = [Record(b"a", None, (), -(1 << 63), 0), Record(b"b", None, (), (1 << 63) - 1, 1)]
    batch = build_batch(records)
    raw = [raw for *_, raw in iter_keys(batch, decompressed_bytes_max=MIB)]
    rebuilt = rebuild_batch(read_header(batch), raw, delete_horizon_ms=1_700_000_000_000)
    assert read(rebuilt) == records
    assert read_header(rebuilt).max_timestamp == (1 << 63) - 1
