import io
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.records.schema import NewRecordBatch, RecordHeader
from kio.records.schema import Record as KioRecord
from kio.records.writers import write_batch
from tests.unit.pyspark_duolog.codec.rows import numbered, records, records_of

from duolog.model.errors import CorruptBatch
from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.header import HEADER_BYTES, RECORD_COUNT_AT
from duolog.records.iterator import iter_batches, iter_records
from duolog.records.record import Record
from pyspark_duolog.codec import positions
from pyspark_duolog.codec.decode import decode
from pyspark_duolog.codec.layout import Walk, find_batches

MIB = 1 << 20
LANES_MIN = [1, 96]
"""All batches in step with each other, and each by itself."""


def one_by_one(buffer: bytes | bytearray) -> list[Record]:
    """As the broker's own iterator reads it."""
    return [
        record
        for header, batch in iter_batches(buffer)
        if not header.is_control
        for record in iter_records(batch, decompressed_bytes_max=MIB)
    ]


def log_of(batches: list[list[Record]], compressions: list[int], gap: int) -> bytes:
    """Batches one after another, with offsets left out between them."""
    buffer, offset = b"", gap
    for index, some in enumerate(batches):
        compression = compressions[index % len(compressions)]
        buffer += build_batch(some, compression=compression, base_offset=offset)
        offset += len(some) + gap
    return buffer


@pytest.mark.parametrize("lanes_min", LANES_MIN)
@given(
    batches=st.lists(records(), min_size=1, max_size=6),
    compressions=st.lists(st.integers(0, 4), min_size=1, max_size=3),
    gap=st.integers(0, 3),
    group_bytes_max=st.sampled_from([1, 500, MIB]),
    part_bytes=st.sampled_from([1, 300, MIB]),
)
def test_what_is_decoded_is_what_the_broker_reads(
    lanes_min: int,
    batches: list[list[Record]],
    compressions: list[int],
    gap: int,
    group_bytes_max: int,
    part_bytes: int,
) -> None:
    buffer = log_of(batches, compressions, gap)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "LANES_MIN", lanes_min)
        decoded = list(decode(buffer, group_bytes_max=group_bytes_max, part_bytes=part_bytes))
    assert records_of(decoded) == one_by_one(buffer)


def sized(*sizes: int) -> list[Record]:
    """Records with values of these sizes, whose bytes begin no number."""
    return [Record(None, b"\xff" * size, (), 1, None) for size in sizes]


@pytest.mark.parametrize("size", [0, 1, 630, 9000])
@pytest.mark.parametrize("counts", [(1,), (63, 64, 65), (25, 110, 7)])
def test_records_of_one_size_are_found_without_stepping_through_them(
    size: int, counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = log_of([sized(*[size] * count) for count in counts], [0], gap=0)
    monkeypatch.delattr(positions, "_step_through")
    assert records_of(list(decode(buffer))) == one_by_one(buffer)


@pytest.mark.parametrize("lanes_min", LANES_MIN)
@pytest.mark.parametrize(
    "batches",
    [
        [sized(300, 200, 400)],
        [sized(100, 100, 100), sized(100, 101, 99)],
        [sized(10, 9000), sized(9000, 10, 200_000), sized(1)],
    ],
)
def test_records_of_several_sizes_are_found_even_if_one_size_would_fit(
    lanes_min: int, batches: list[list[Record]], monkeypatch: pytest.MonkeyPatch
) -> None:
    buffer = log_of(batches, [0], gap=0)
    monkeypatch.setattr(positions, "LANES_MIN", lanes_min)
    assert records_of(list(decode(buffer))) == one_by_one(buffer)


def test_records_are_handed_on_in_parts_of_about_one_size() -> None:
    buffer = log_of([sized(*[1000] * 50)] * 4, [0], gap=0)
    parts = list(decode(buffer, part_bytes=20_000))
    assert {part.num_rows for part in parts[:-1]} <= {19, 20}
    assert records_of(parts) == one_by_one(buffer)


@given(batches=st.lists(records(), min_size=1, max_size=4), piece=st.integers(1, 500))
def test_a_buffer_that_is_filled_piece_by_piece_is_found_to_hold_the_same(
    batches: list[list[Record]], piece: int
) -> None:
    buffer = log_of(batches, [0], gap=2)[:-1]
    walk = Walk(buffer, 0)
    for filled in range(0, len(buffer), piece):
        walk.to(filled)
    walk.to(len(buffer))
    found, expected = walk.found(), find_batches(buffer, 0)
    assert found.at.tolist() == expected.at.tolist()
    assert found.bytes_read == expected.bytes_read < len(buffer)
    assert found.next_offset == expected.next_offset


@given(batches=st.lists(records(), min_size=1, max_size=4), data=st.data())
def test_only_the_offsets_that_were_asked_for_are_decoded(
    batches: list[list[Record]], data: st.DataObject
) -> None:
    buffer = log_of(batches, [0], gap=2)
    end = find_batches(buffer, 0).next_offset
    first_offset = data.draw(st.integers(0, end))
    end_offset = data.draw(st.integers(first_offset, end + 1))
    decoded = list(decode(buffer, first_offset=first_offset, end_offset=end_offset))
    assert records_of(decoded) == [
        each for each in one_by_one(buffer) if first_offset <= (each.offset or 0) < end_offset
    ]


@pytest.mark.parametrize("lanes_min", LANES_MIN)
@given(some=records(), data=st.data())
def test_damage_under_a_right_checksum_is_found_where_the_broker_finds_it(
    lanes_min: int, some: list[Record], data: st.DataObject
) -> None:
    batch = build_batch(some)
    place = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
    batch[place] = data.draw(st.integers(0, 255))
    seal(batch)
    buffer = bytes(batch) + bytes(build_batch(some, base_offset=100))
    try:
        expected: list[Record] | None = one_by_one(buffer)
    except CorruptBatch:
        expected = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(positions, "LANES_MIN", lanes_min)
        if expected is None:
            with pytest.raises(CorruptBatch):
                list(decode(buffer))
        else:
            assert records_of(list(decode(buffer))) == expected


SECONDS = st.integers(0, 1 << 31).map(lambda seconds: seconds * 1000)


@given(some=records(SECONDS), base_offset=st.integers(0, 1 << 40))
def test_what_kio_writes_is_decoded(some: list[Record], base_offset: int) -> None:
    given_records = numbered(some, base_offset)
    buffer = io.BytesIO()
    kio_records = tuple(
        KioRecord(
            attributes=0,
            timestamp=datetime.fromtimestamp(each.timestamp // 1000, UTC),
            offset=each.offset,
            key=each.key,
            value=each.value,
            headers=tuple(RecordHeader(key=k.encode(), value=v) for k, v in each.headers),
        )
        for each in given_records
    )
    batch = NewRecordBatch(
        producer_id=-1, producer_epoch=-1, base_sequence=-1, records=kio_records, attributes=0
    )
    write_batch(buffer, batch)
    assert records_of(list(decode(buffer.getvalue()))) == given_records


def test_a_broker_that_stamps_records_gives_them_its_time() -> None:
    records_given = [Record(value=b"a", timestamp=5), Record(value=b"b", timestamp=6)]
    buffer = build_batch(records_given, append_time_ms=77)
    (batch,) = decode(bytes(buffer))
    assert [each.timestamp for each in records_of([batch])] == [77, 77]
    assert batch["timestampType"].to_pylist() == [1, 1]


def test_control_batches_and_emptied_ones_are_passed_over() -> None:
    buffer = (
        build_batch([Record(value=b"commit")], control=True)
        + build_batch([], base_offset=1, last_offset_delta=4)
        + build_batch([Record(value=b"kept")], base_offset=6)
        + build_batch([], base_offset=7, last_offset_delta=2)
    )
    found = find_batches(buffer, 0)
    assert [each.value for each in records_of(list(decode(buffer, found=found)))] == [b"kept"]
    assert found.next_offset == 10


def test_a_wrong_checksum_is_found() -> None:
    batch = build_batch([Record(value=b"a")], base_offset=41)
    batch[-1] ^= 1
    with pytest.raises(CorruptBatch, match="offset 41"):
        list(decode(batch))


def test_a_false_count_of_records_is_found_before_room_is_made_for_them() -> None:
    batch = build_batch([Record(value=b"a")])
    batch[RECORD_COUNT_AT : RECORD_COUNT_AT + 4] = (2_000_000_000).to_bytes(4, "big")
    seal(batch)
    with pytest.raises(CorruptBatch):
        list(decode(batch))


def test_the_torn_batch_at_the_end_of_an_answer_is_left_out() -> None:
    whole = build_batch([Record(value=b"a")])
    torn = build_batch([Record(value=b"b")], base_offset=1)[:-3]
    assert [each.value for each in records_of(list(decode(whole + torn)))] == [b"a"]


def test_a_record_without_headers_has_none_as_in_sparks_kafka_source() -> None:
    buffer = build_batch([Record(value=b"a"), Record(value=b"b", headers=(("h", None),))])
    (batch,) = decode(buffer, ["headers"])
    assert batch["headers"].to_pylist() == [None, [{"key": "h", "value": None}]]


def test_no_columns_still_have_rows() -> None:
    (batch,) = decode(build_batch([Record(), Record()]), [])
    assert (batch.num_rows, batch.num_columns) == (2, 0)


def test_times_beyond_what_spark_holds_become_the_last_that_it_does() -> None:
    (batch,) = decode(build_batch([Record(timestamp=1 << 62)]), ["timestamp"])
    assert batch["timestamp"].view("int64").to_pylist() == [(2**63 - 1) // 1000 * 1000]
