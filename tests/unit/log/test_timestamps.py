"""Records are found by their time, wherever they lie."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import NOW_MS, append, batch_of, fill, open_log, sync

from duolog.model.errors import CorruptBatch
from duolog.records.builder import build_batch
from duolog.records.compression import GZIP
from duolog.records.record import Record


@given(
    batches=st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=3), min_size=1, max_size=25),
    wanted=st.integers(0, 55),
    start=st.integers(0, 20),
    reopen=st.booleans(),
)
def test_the_first_record_that_is_late_enough_is_found(
    batches: list[list[int]], wanted: int, start: int, reopen: bool
) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    for times in batches:
        append(log, build_batch([Record(b"k", b"v", timestamp=time) for time in times]))
    log.advance_start(min(start, log.end_offset))
    if reopen:
        sync(log)
        log.close(NOW_MS)
        log = open_log(disk, recovery_point=log.end_offset)
    records = list(enumerate(time for times in batches for time in times))[log.start_offset :]
    late = [record for record in records if record[1] >= wanted]
    assert log.timestamp_search(wanted)() == (late[0] if late else None)
    latest = max((time for _, time in records), default=None)
    first = next((record for record in records if record[1] == latest), None)
    assert log.max_timestamp_search()() == first


def test_a_compressed_batch_is_opened_to_find_the_record() -> None:
    log = open_log(FakeDisk())
    records = [Record(b"k", b"v", timestamp=time) for time in (5, 7, 9)]
    append(log, build_batch(records, compression=GZIP))
    assert log.timestamp_search(6)() == (1, 7)


def test_append_time_is_the_time_of_all_records_of_a_batch() -> None:
    log = open_log(FakeDisk())
    append(log, build_batch([Record(b"k", timestamp=1)] * 3, append_time_ms=50))
    assert log.timestamp_search(40)() == (0, 50)
    log.advance_start(2)
    assert log.timestamp_search(40)() == (2, 50)


def test_an_empty_log_has_no_times() -> None:
    log = open_log(FakeDisk())
    assert log.timestamp_search(0)() is None
    assert log.max_timestamp_search()() is None


def test_a_damaged_batch_is_not_searched() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    append(log, batch_of(b"abc"))
    disk.flip_bit(log.segments[0].path, 65)
    with pytest.raises(CorruptBatch):
        log.timestamp_search(NOW_MS)()


def test_times_are_found_in_many_segments() -> None:
    log = open_log(FakeDisk())
    for number in range(60):
        fill(log, 1, now_ms=NOW_MS + number)
    assert log.timestamp_search(NOW_MS + 42)() == (42, NOW_MS + 42)
    assert log.timestamp_search(NOW_MS + 60)() is None
    assert log.max_timestamp_search()() == (59, NOW_MS + 59)


def test_a_search_goes_on_in_segments_that_expire_meanwhile() -> None:
    log = open_log(FakeDisk())
    for number in range(60):
        fill(log, 1, now_ms=NOW_MS + number)
    searches = log.timestamp_search(NOW_MS + 42), log.max_timestamp_search()
    log.advance_start(60)
    assert len(log.expire(NOW_MS, 60)) > 5
    assert [search() for search in searches] == [(42, NOW_MS + 42), (59, NOW_MS + 59)]
