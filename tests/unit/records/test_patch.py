import pytest

from duolog.records.builder import build_batch
from duolog.records.checksum import is_intact
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.patch import assign, stamp_append_time
from duolog.records.record import Record

RECORDS = [Record(b"a", b"1", (), 1_000), Record(b"b", b"2", (), 2_000)]


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_assigning_an_offset_changes_nothing_else(kind: type) -> None:
    batch = build_batch(RECORDS)
    before = read_header(batch)
    assign(kind(batch) if kind is memoryview else batch, 1 << 40, 7)
    assert is_intact(batch)
    assert read_header(batch) == before._replace(base_offset=1 << 40, leader_epoch=7)
    offsets = [record.offset for record in iter_records(batch, decompressed_bytes_max=1_000)]
    assert offsets == [1 << 40, (1 << 40) + 1]


@pytest.mark.parametrize("compression", range(5))
def test_stamping_gives_every_record_the_time_of_the_append(compression: int) -> None:
    batch = build_batch(RECORDS, compression=compression)
    before = read_header(batch)
    stamp_append_time(batch, 5_000)
    after = read_header(batch)
    assert is_intact(batch)
    assert after.uses_log_append_time
    assert (after.base_timestamp, after.max_timestamp) == (before.base_timestamp, 5_000)
    read = iter_records(batch, decompressed_bytes_max=1_000)
    assert [(record.timestamp, record.value) for record in read] == [(5_000, b"1"), (5_000, b"2")]


def test_a_stamped_batch_is_one_built_with_the_time_of_the_append() -> None:
    batch = build_batch(RECORDS)
    stamp_append_time(batch, 5_000)
    assert batch == build_batch(RECORDS, append_time_ms=5_000)
