"""The short way to build and read plain batches, held against the long one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duolog.core.queues import plain_batch
from duolog.core.queues.plain_batch import RECORDS_MAX, build_plain_batch, plain_values
from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.header import HEADER_BYTES, read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

VALUES = st.lists(st.binary(max_size=200), min_size=1, max_size=90)
TIMESTAMP = 1_700_000_000_000


def read(batch: bytearray) -> list[bytes] | None:
    """The same with and without what was compiled."""
    header, view = read_header(batch), memoryview(batch)
    found = plain_values(header, view)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_batch, "split_records", plain_batch._split_in_python)
        assert plain_values(header, view) == found
    return found


def test_it_is_compiled_where_tests_run() -> None:
    assert plain_batch.join_records.__module__ == "duolog.core.queues._plain_records"
    assert plain_batch.split_records.__module__ == "duolog.core.queues._plain_records"


@given(VALUES)
@settings(deadline=None, max_examples=60)
def test_a_plain_batch_is_built_as_any_batch(values: list[bytes]) -> None:
    usual = build_batch([Record(value=value, timestamp=TIMESTAMP) for value in values])
    assert build_plain_batch(values, TIMESTAMP) == usual
    assert plain_batch._join_in_python(values, 7)[7:] == usual[HEADER_BYTES:]
    assert read(usual) == values


def test_values_of_every_width_of_length_are_framed_alike() -> None:
    for size in (0, 1, 62, 63, 64, 65, 8_190, 8_191, 8_192, 1 << 20):
        usual = build_batch([Record(value=b"v" * size, timestamp=TIMESTAMP)] * 70)
        assert build_plain_batch([b"v" * size] * 70, TIMESTAMP) == usual
        assert plain_batch._join_in_python([b"v" * size] * 70, 0) == usual[HEADER_BYTES:]
        assert read(usual) == [b"v" * size] * 70


def test_a_batch_that_was_stamped_when_it_was_appended_is_read() -> None:
    plain = Record(value=b"v", timestamp=TIMESTAMP)
    assert read(build_batch([plain] * 2, append_time_ms=TIMESTAMP + 1)) == [b"v", b"v"]


def test_the_largest_plain_batch_is_read_and_a_larger_one_is_not() -> None:
    assert read(build_plain_batch([b"v"] * RECORDS_MAX, TIMESTAMP)) == [b"v"] * RECORDS_MAX
    larger = build_batch([Record(value=b"v", timestamp=TIMESTAMP)] * (RECORDS_MAX + 1))
    assert read(larger) is None


def test_what_has_more_than_values_is_left_to_the_usual_way() -> None:
    plain = Record(value=b"v", timestamp=TIMESTAMP)
    others = (
        Record(key=b"k", value=b"v", timestamp=TIMESTAMP),
        Record(value=None, timestamp=TIMESTAMP),
        Record(value=b"v", headers=(("name", b"value"),), timestamp=TIMESTAMP),
        Record(value=b"v", timestamp=TIMESTAMP + 1),
        Record(value=b"v", timestamp=TIMESTAMP, offset=7),
    )
    for other in others:
        assert read(build_batch([plain, other])) is None
    assert read(build_batch([plain], compression=1)) is None
    assert read(build_batch([plain], last_offset_delta=3)) is None
    assert read(build_batch([])) is None


@given(VALUES, st.data())
@settings(deadline=None, max_examples=200)
def test_a_damaged_batch_is_never_read_otherwise_than_usual(
    values: list[bytes], data: st.DataObject
) -> None:
    batch = build_plain_batch(values[:5], TIMESTAMP)
    at = data.draw(st.integers(HEADER_BYTES, len(batch) - 1))
    batch[at] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        del batch[data.draw(st.integers(HEADER_BYTES, len(batch))) :]
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    seal(batch)
    found = read(batch)
    if found is not None:
        usual = list(iter_records(batch, decompressed_bytes_max=1 << 20))
        assert [record.value for record in usual] == found
        assert [record.offset for record in usual] == list(range(len(found)))
        assert all(record.timestamp == TIMESTAMP and not record.headers for record in usual)
