import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.readers import read_batch
from tests.unit.pyspark_duolog.codec.rows import numbered, records, rows_of

from duolog.records.builder import build_batch
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record
from duolog.records.validation import check_batch, check_records
from pyspark_duolog.codec.encode import Producer, encode

MIB = 1 << 20


@given(some=records(), compression=st.integers(0, 4))
def test_a_batch_is_the_one_that_the_projects_builder_makes(
    some: list[Record], compression: int
) -> None:
    (encoded,) = encode(
        rows_of(some), compression=compression, producer=Producer(id=7, epoch=1, sequence=5)
    )
    assert encoded.batch == build_batch(
        some, compression=compression, producer_id=7, producer_epoch=1, base_sequence=5
    )


@given(some=records(st.integers(0, 1 << 31).map(lambda seconds: seconds * 1000)))
def test_kio_reads_what_is_encoded(some: list[Record]) -> None:
    (encoded,) = encode(rows_of(some))
    batch, size = read_batch(bytes(encoded.batch), 0)
    assert size == len(encoded.batch)
    read = [
        Record(
            each.key,
            each.value,
            tuple((header.key.decode(), header.value) for header in each.headers),
            int(each.timestamp.timestamp()) * 1000,
            each.offset,
        )
        for each in batch.records
    ]
    assert read == numbered(some)


@given(some=records(), batch_bytes_max=st.integers(1, 600))
def test_rows_are_cut_into_batches_that_a_broker_takes(
    some: list[Record], batch_bytes_max: int
) -> None:
    found: list[Record] = []
    for encoded in encode(rows_of(some), batch_bytes_max=batch_bytes_max):
        view = memoryview(encoded.batch)
        header = check_batch(view, MIB)
        check_records(view, header, decompressed_bytes_max=MIB, keys_required=False)
        assert encoded.record_count == 1 or len(view) <= batch_bytes_max + 61
        found += [
            each._replace(offset=None) for each in iter_records(view, decompressed_bytes_max=MIB)
        ]
    assert found == some


def test_sequences_go_on_from_batch_to_batch_and_wrap() -> None:
    some = [Record(value=b"v" * 100)] * 3
    producer = Producer(id=1, epoch=0, sequence=0x7FFF_FFFF)
    batches = encode(rows_of(some), producer=producer, batch_bytes_max=1)
    sequences = [read_header(each.batch).base_sequence for each in batches]
    assert sequences == [0x7FFF_FFFF, 0, 1]


@pytest.mark.parametrize("count", [0, 25_000])
def test_any_number_of_rows_is_encoded(count: int) -> None:
    some = [Record(value=b"v", timestamp=1)] * count
    assert sum(each.record_count for each in encode(rows_of(some))) == count
