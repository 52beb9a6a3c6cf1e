"""What the owner of a log sees: appending, reading, syncing, failing."""

import errno

import pytest
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import (
    NOW_MS,
    SMALL,
    append,
    batch_of,
    contents,
    fill,
    log_files,
    open_log,
    sync,
    with_config,
)

from duolog.config.topic import TopicConfig
from duolog.log.reader import SEALED_OPEN_MAX
from duolog.model.errors import CorruptBatch, OffsetOutOfRange, StorageFailed
from duolog.records.header import read_header


def test_a_new_log_is_empty() -> None:
    log = open_log(FakeDisk())
    assert (log.start_offset, log.end_offset, log.size_bytes) == (0, 0, 0)
    assert log.read(0, 100, 0) is None


def test_a_batch_is_stored_as_given_but_for_its_offset_and_epoch() -> None:
    log = open_log(FakeDisk())
    append(log, batch_of(b"first"))
    batch = batch_of(b"a", b"b")
    original = bytes(batch)
    (stored,) = append(log, batch, epoch=7)
    assert contents(log)[1] == stored
    header = read_header(stored)
    assert (header.base_offset, header.leader_epoch) == (1, 7)
    assert stored[8:12] + stored[16:] == original[8:12] + original[16:]


def test_staged_batches_are_not_in_the_log_before_they_are_written() -> None:
    log = open_log(FakeDisk())
    batch = batch_of(b"a", b"b")
    assert log.stage(memoryview(batch), read_header(batch), 0) == 0
    assert (log.end_offset, log.staged_end_offset) == (0, 2)
    log.write_staged(NOW_MS)
    assert (log.end_offset, log.staged_end_offset) == (2, 2)


def test_a_read_of_every_offset_begins_with_the_batch_that_holds_it() -> None:
    log = open_log(FakeDisk())
    for number in range(30):
        append(log, batch_of(*[b"v%d" % number] * (1 + number % 3)))
    for offset in range(log.end_offset):
        log._reader.forget()
        found = log.read(offset, 1, log.end_offset)
        assert found is not None
        header = read_header(found.file.pread(found.length, found.position))
        assert header.base_offset <= offset < header.next_offset
        assert (found.length, found.next_offset) == (header.size, header.next_offset)


@pytest.mark.parametrize("bytes_max", [1, 100, 250, 500, 5000])
def test_reads_of_any_size_give_every_batch_once(bytes_max: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 40)
    assert contents(log, bytes_max=bytes_max) == stored
    sync(log)
    log.close(NOW_MS)
    reopened = open_log(disk, recovery_point=log.end_offset)
    assert contents(reopened, bytes_max=bytes_max) == stored


def test_a_read_takes_as_much_as_fits_and_stays_in_its_segment() -> None:
    log = open_log(FakeDisk(), TopicConfig(index_interval_bytes=150))
    stored = fill(log, 20, size=40)
    size = len(stored[0])
    found = log.read(2, size * 3 + 5, 20)
    assert found is not None
    assert (found.length, found.next_offset) == (size * 3, 5)


def test_a_read_ends_at_the_given_end_offset() -> None:
    log = open_log(FakeDisk(), TopicConfig(index_interval_bytes=150))
    fill(log, 20)
    for end_offset in range(1, 20):
        found = log.read(0, 1 << 20, end_offset)
        assert found is not None
        assert found.next_offset == end_offset


def test_reading_at_the_end_gives_nothing_and_past_it_is_refused() -> None:
    log = open_log(FakeDisk())
    fill(log, 3)
    assert log.read(3, 100, 3) is None
    assert log.read(2, 100, 2) is None
    with pytest.raises(OffsetOutOfRange):
        log.read(4, 100, 3)
    log.advance_start(2)
    with pytest.raises(OffsetOutOfRange):
        log.read(1, 100, 3)


def test_a_reader_at_the_end_goes_on_in_the_next_segment() -> None:
    log = open_log(FakeDisk())
    fill(log, 2)
    assert log.read(0, 1 << 20, 2) is not None
    log.roll()
    (stored,) = append(log, batch_of(b"next"))
    found = log.read(2, 1 << 20, 3)
    assert found is not None
    assert found.file.pread(found.length, found.position) == stored


def test_a_segment_is_rolled_when_it_is_full() -> None:
    log = open_log(FakeDisk())
    fill(log, 30)
    assert len(log.segments) > 3
    assert all(segment.size <= SMALL.segment_bytes for segment in log.segments)
    ends = [segment.end_offset for segment in log.segments[:-1]]
    assert ends == [segment.base_offset for segment in log.segments[1:]]


def test_one_write_may_fill_several_segments() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = append(log, *[batch_of(b"x" * 100) for _ in range(20)])
    assert len(log.segments) > 3
    assert contents(log) == stored


def test_a_batch_larger_than_a_segment_gets_one_of_its_own() -> None:
    log = open_log(FakeDisk())
    stored = append(log, batch_of(b"a"), batch_of(b"x" * 2000), batch_of(b"b"))
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]
    assert contents(log) == stored


def test_a_segment_is_rolled_when_it_is_old() -> None:
    log = open_log(FakeDisk(), TopicConfig(segment_ms=1000))
    fill(log, 2, now_ms=NOW_MS)
    fill(log, 2, now_ms=NOW_MS + 1000)
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    log.roll_if_aged(NOW_MS + 1999)
    assert len(log.segments) == 2
    log.roll_if_aged(NOW_MS + 2000)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    log.roll_if_aged(NOW_MS + 9000)
    assert len(log.segments) == 3


def test_a_resting_log_holds_no_file_and_goes_on_when_asked() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 30)
    sync(log)
    assert contents(log) == stored
    log.rest()
    disk.fail("open", errno.EMFILE, path_part=".log", times=2)
    for offset in (0, 29):
        with pytest.raises(OSError):
            log.read(offset, 1000, 30)
    assert contents(log) == stored
    log.rest()
    stored += fill(log, 30)
    sync(log)
    disk.crash()
    assert contents(open_log(disk)) == stored


def test_a_log_does_not_rest_before_it_is_durable() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 1)
    log.rest()
    disk.fail("open", errno.EMFILE, path_part=".log")
    sync(log)
    assert log.durable_offset == 1


def test_a_changed_configuration_holds_at_once() -> None:
    log = open_log(FakeDisk(), TopicConfig())
    fill(log, 5)
    assert len(log.segments) == 1
    with_config(log, segment_bytes=200)
    fill(log, 1)
    assert len(log.segments) == 2


def test_a_sync_covers_rolled_segments_and_the_directory() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    sync(log)
    assert log.begin_sync() == ([], 0)
    fill(log, 12)
    targets, end_offset = log.begin_sync()
    assert end_offset == 12
    assert len(targets) == len(log.segments) + 1
    assert log.durable_offset == 0
    log.finish_sync(12)
    assert log.durable_offset == 12


def test_what_was_cut_during_a_sync_is_not_durable_when_written_again() -> None:
    log = open_log(FakeDisk())
    fill(log, 5)
    _, end_offset = log.begin_sync()
    log.truncate_to(2)
    fill(log, 3)
    log.finish_sync(end_offset)
    assert log.durable_offset == 2


def test_segments_that_were_rolled_before_a_cut_are_still_synced() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 20)
    log.truncate_to(15)
    sync(log)
    disk.crash()
    assert contents(open_log(disk)) == stored[:15]


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_leaves_the_log_as_it_was(error: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 3)
    size = log.size_bytes
    disk.fail("write", error, path_part=".log")
    with pytest.raises(StorageFailed) as failure:
        append(log, batch_of(b"a"), batch_of(b"b"))
    assert isinstance(failure.value.__cause__, OSError)
    assert (log.end_offset, log.staged_end_offset, log.size_bytes) == (3, 3, size)
    assert len(disk.content(log.segments[-1].path)) == log.segments[-1].size
    stored += append(log, batch_of(b"c"))
    assert contents(log) == stored
    assert contents(open_log(disk)) == stored


def test_a_full_disk_refuses_and_takes_more_once_there_is_room() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    disk.capacity_bytes = 1000
    with pytest.raises(StorageFailed):
        fill(log, 20, size=400)
    stored = contents(log)
    disk.capacity_bytes = None
    stored += fill(log, 10)
    assert contents(log) == stored
    assert contents(open_log(disk)) == stored


@pytest.mark.parametrize("operation", ["open", "write"])
@pytest.mark.parametrize("skip", [0, 1, 2])
def test_a_full_disk_while_rolling_leaves_the_log_as_it_was(operation: str, skip: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 2)
    names = log_files(disk)
    disk.fail(operation, errno.ENOSPC, path_part=".log", skip=skip)  # type: ignore[arg-type]
    with pytest.raises(StorageFailed):
        append(log, *[batch_of(b"x" * 300) for _ in range(5)])
    assert log_files(disk) == names
    assert contents(log) == stored
    stored += append(log, *[batch_of(b"x" * 300) for _ in range(5)])
    assert contents(log) == stored
    assert contents(open_log(disk)) == stored


def test_a_log_whose_end_is_unknown_takes_nothing_more() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 1)
    disk.fail("write")
    disk.fail("truncate")
    for _ in range(2):
        with pytest.raises(StorageFailed):
            append(log, batch_of(b"a"))
    assert contents(log) == stored
    assert contents(open_log(disk)) == stored


def test_a_failed_index_write_fails_nothing() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    disk.fail("open", errno.ENOSPC, path_part="index", times=-1)
    stored = fill(log, 30)
    log.checkpoint()
    assert contents(log) == stored


def test_headers_and_batches_start_with_the_batch_that_holds_the_offset() -> None:
    log = open_log(FakeDisk())
    stored = []
    for _ in range(20):
        stored += append(log, batch_of(b"a", b"b", b"c"))
    assert [header.base_offset for header in log.headers(31)] == list(range(30, 60, 3))
    assert [bytes(each) for each in log.batches(31, 1 << 20)] == stored[10:]
    assert [bytes(each) for each in log.batches(31, 1)] == stored[10:11]
    assert list(log.batches(60, 100)) == []


def test_a_damaged_batch_is_not_handed_on() -> None:
    disk = FakeDisk()
    log = open_log(disk, TopicConfig())
    stored = fill(log, 5)
    disk.flip_bit(log.segments[0].path, len(stored[0]) * 2 + 70)
    batches = log.batches(0, 1 << 20)
    assert [bytes(next(batches)) for _ in range(2)] == stored[:2]
    with pytest.raises(CorruptBatch):
        next(batches)


def test_deleted_records_stay_deleted_after_a_crash() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 20)
    sync(log)
    log.advance_start(7)
    disk.crash()
    log = open_log(disk)
    assert log.start_offset == 7
    assert contents(log) == stored[7:]
    with pytest.raises(OffsetOutOfRange):
        log.advance_start(21)


def test_offsets_of_deleted_records_are_never_given_again() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    sync(log)
    fill(log, 5)
    log.advance_start(5)
    disk.crash()
    log = open_log(disk)
    assert (log.start_offset, log.end_offset) == (5, 5)


@pytest.mark.parametrize("offset", range(21))
def test_a_log_is_cut_durably_at_any_offset(offset: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = []
    for _ in range(10):
        stored += append(log, batch_of(b"a", b"b", timestamp=NOW_MS + log.end_offset))
    sync(log)
    log.truncate_to(offset)
    end_offset = offset - offset % 2
    assert (log.end_offset, log.staged_end_offset) == (end_offset, end_offset)
    kept = stored[: offset // 2]
    assert contents(log) == kept
    disk.crash()
    log = open_log(disk, recovery_point=20)
    assert contents(log) == kept
    kept += fill(log, 12)
    assert contents(log) == kept


def test_what_follows_a_cut_is_scanned_whatever_the_recovery_point_says() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 20)
    sync(log)
    log.truncate_to(4)
    fill(log, 5)
    disk.crash()
    log = open_log(disk, recovery_point=20)
    assert log.end_offset == 4
    assert log.recovery.quarantined == ()


def test_a_reset_log_starts_at_the_offset_it_is_given() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 20)
    sync(log)
    log.reset_to(100)
    assert (log.start_offset, log.end_offset) == (100, 100)
    stored = fill(log, 3)
    sync(log)
    disk.crash()
    log = open_log(disk, recovery_point=20)
    assert (log.start_offset, log.end_offset) == (100, 103)
    assert contents(log) == stored


def test_few_sealed_segments_are_kept_open() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 300)
    sync(log)
    log.close(NOW_MS)
    log = open_log(disk, recovery_point=300)
    assert len(log.segments) > 2 * SEALED_OPEN_MAX
    for _ in range(2):
        assert contents(log) == stored
        opened = [segment for segment in log.segments if segment._file is not None]
        assert len(opened) <= SEALED_OPEN_MAX + 1
