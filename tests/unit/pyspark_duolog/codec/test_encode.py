import shutil

import numpy as np
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
from pyspark_duolog.codec import encode as encoding
from pyspark_duolog.codec.encode import Producer, Rows, encode

MIB = 1 << 20

compiled = pytest.mark.skipif(encoding._records is None, reason="nothing was compiled")


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
def test_what_can_be_compiled_is() -> None:
    assert encoding._records is not None


def batches_of(rows: Rows, batch_bytes_max: int, *, is_compiled: bool) -> list[tuple[bytes, int]]:
    with pytest.MonkeyPatch.context() as patch:
        if not is_compiled:
            patch.setattr(encoding, "_records", None)
        return [
            (bytes(each.batch), each.record_count)
            for each in encode(rows, batch_bytes_max=batch_bytes_max)
        ]


@compiled
@given(some=records(), first=st.integers(0, 3), batch_bytes_max=st.integers(1, 600))
def test_numpy_makes_the_same_batches_in_more_steps(
    some: list[Record], first: int, batch_bytes_max: int
) -> None:
    key, value, timestamp_ms, headers = rows_of(some)
    assert headers is not None
    rows = Rows(key[first:], value[first:], timestamp_ms[first:], headers[first:])
    assert batches_of(rows, batch_bytes_max, is_compiled=True) == batches_of(
        rows, batch_bytes_max, is_compiled=False
    )


@compiled
@pytest.mark.parametrize(
    ("room", "first", "stop", "offset", "edges", "bits"),
    [
        (16, 0, 3, 0, [0, 2, 4, 6], None),
        (99, 0, 4, 0, [0, 2, 4, 6], None),
        (99, 2, 1, 0, [0, 2, 4, 6], None),
        (99, -1, 3, 0, [0, 2, 4, 6], None),
        (99, 0, 3, -1, [0, 2, 4, 6], None),
        (99, 0, 3, 1 << 62, [0, 2, 4, 6], None),
        (99, 0, 3, 0, [0, 2, 4, 7], None),
        (99, 0, 3, 0, [-2, 2, 4, 6], None),
        (99, 0, 3, 0, [0, 4, 2, 6], None),
        (99, 0, 3, 6, [0] * 12, b"\xff"),
    ],
)
def test_nothing_is_written_of_columns_that_do_not_hold_together(
    room: int, first: int, stop: int, offset: int, edges: list[int], bits: bytes | None
) -> None:
    whole = (0, None, np.array([0, 2, 4, 6], np.int32), b"aabbcc")
    broken = (offset, bits, np.array(edges, np.int32), b"aabbcc")
    arguments = (bytearray(room), 0, first, stop, np.zeros(4, np.int64))
    for columns in ((broken, whole, whole), (whole, broken, whole), (whole, whole, broken)):
        with pytest.raises(ValueError, match="do not fit"):
            encoding._records.write(*arguments, *columns)


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
