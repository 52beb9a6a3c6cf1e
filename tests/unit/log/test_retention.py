"""Old segments go: by time, by size, and below the start offset."""

import errno
from dataclasses import replace

import pytest
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import (
    NOW_MS,
    PATH,
    SMALL,
    contents,
    fill,
    log_files,
    open_log,
    sync,
)

from duolog.config.topic import TopicConfig
from duolog.log.log import Log

HOUR_MS = 3_600_000
BY_TIME = replace(SMALL, retention_ms=HOUR_MS, segment_ms=1 << 50)


def expire(log: Log, now_ms: int = NOW_MS) -> int:
    return len(log.expire(now_ms, log.end_offset))


def test_segments_whose_records_are_all_too_old_go() -> None:
    log = open_log(FakeDisk(), BY_TIME)
    fill(log, 12, now_ms=NOW_MS)
    kept = fill(log, 6, now_ms=NOW_MS + HOUR_MS)
    assert expire(log, NOW_MS + HOUR_MS) == 0
    assert expire(log, NOW_MS + HOUR_MS + 1) > 0
    assert contents(log)[-6:] == kept
    assert log.start_offset == log.segments[0].base_offset > 0


def test_an_active_segment_that_is_too_old_is_rolled_and_goes() -> None:
    log = open_log(FakeDisk(), BY_TIME)
    fill(log, 3)
    assert expire(log, NOW_MS + HOUR_MS + 1) == 1
    assert (log.start_offset, log.end_offset, log.size_bytes) == (3, 3, 0)
    assert expire(log, NOW_MS + HOUR_MS + 1) == 0
    stored = fill(log, 1)
    assert contents(log) == stored


def test_records_without_a_time_do_not_age() -> None:
    log = open_log(FakeDisk(), BY_TIME)
    fill(log, 12, now_ms=-1)
    assert expire(log, NOW_MS) == 0


def test_the_oldest_segments_go_while_enough_is_left() -> None:
    log = open_log(FakeDisk(), replace(SMALL, retention_bytes=1000))
    fill(log, 40)
    expire(log)
    assert 1000 <= log.size_bytes < 1000 + SMALL.segment_bytes
    assert expire(log) == 0


def test_nothing_goes_that_is_above_the_given_offset() -> None:
    log = open_log(FakeDisk(), BY_TIME)
    fill(log, 40)
    up_to = log.segments[2].base_offset
    removed = log.expire(NOW_MS + HOUR_MS + 1, up_to)
    assert len(removed) == 2
    assert log.start_offset == up_to


def test_segments_below_the_start_offset_go_whatever_the_policy() -> None:
    log = open_log(FakeDisk(), TopicConfig(cleanup_delete=False, segment_bytes=600))
    fill(log, 20)
    log.advance_start(log.segments[2].base_offset + 1)
    assert expire(log) == 2
    assert log.start_offset == log.segments[0].base_offset + 1
    log.advance_start(20)
    expire(log)
    assert (log.size_bytes, log.start_offset, log.end_offset) == (0, 20, 20)


def test_a_compacted_log_keeps_what_is_old_and_much() -> None:
    config = replace(BY_TIME, cleanup_delete=False, cleanup_compact=True, retention_bytes=1)
    log = open_log(FakeDisk(), config)
    fill(log, 40)
    assert expire(log, NOW_MS + 10 * HOUR_MS) == 0


def test_a_reader_can_finish_in_a_removed_segment() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    stored = fill(log, 12)
    part = log.read(0, 1 << 20, 12)
    assert part is not None
    removed = log.expire(NOW_MS + HOUR_MS + 1, 12)
    for segment in removed:
        for path in segment.paths:
            disk.remove(path)
    data = part.file.pread(part.length, part.position)
    assert data == b"".join(stored)[: part.length]
    assert [name for name in disk.list_names(PATH) if "deleted" in name] == []


def test_files_are_renamed_first_and_removed_by_their_owner() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 12)
    before = log_files(disk)
    (first, *_) = log.expire(NOW_MS + HOUR_MS + 1, 12)
    assert before[0] not in log_files(disk)
    assert all(disk.exists(path) for path in first.paths)


def test_what_expired_does_not_come_back_after_a_crash() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 30)
    fill(log, 3, now_ms=NOW_MS + HOUR_MS)
    sync(log)
    expire(log, NOW_MS + HOUR_MS + 1)
    start_offset, kept = log.start_offset, contents(log)
    disk.crash()
    log = open_log(disk, BY_TIME)
    assert (log.start_offset, contents(log)) == (start_offset, kept)


def test_a_full_disk_keeps_nothing_from_expiring_but_the_active_segment() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 12)
    sealed = len(log.segments) - 1
    disk.capacity_bytes = 1
    disk.fail("open", errno.ENOSPC, path_part=".log")
    assert expire(log, NOW_MS + HOUR_MS + 1) == sealed


def test_a_segment_stays_until_its_files_could_be_renamed() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 30)
    before = list(log.segments)
    disk.fail("rename", path_part=f"{before[2].base_offset:020d}.log")
    assert log.expire(NOW_MS + HOUR_MS + 1, 30) == before[:2]
    assert log.segments[0] is before[2]
    disk.fail("rename", path_part=f"{before[2].base_offset:020d}.log")
    with pytest.raises(OSError):
        log.expire(NOW_MS + HOUR_MS + 1, 30)
    assert log.segments[0] is before[2]
    (first, *_) = log.expire(NOW_MS + HOUR_MS + 1, 30)
    assert first is before[2]
    assert all(disk.exists(path) for path in first.paths)
    assert (log.start_offset, log.size_bytes) == (30, 0)


def test_want_of_a_descriptor_keeps_nothing_from_expiring() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 30)
    sealed = log.segments[:-1]
    for segment in sealed:
        segment.release()
    disk.fail("open", errno.EMFILE, path_part=".log", times=1000)
    assert log.expire(NOW_MS + HOUR_MS + 1, 30) == sealed
    assert all(segment.deleted for segment in sealed)


def test_a_deleted_log_has_no_duties_any_more() -> None:
    disk = FakeDisk()
    log = open_log(disk, replace(BY_TIME, cleanup_compact=True, min_cleanable_dirty_ratio=0.0))
    fill(log, 30)
    log.roll()
    fill(log, 1)
    sync(log)
    plan = log.plan_compaction(NOW_MS)
    assert plan is not None
    result = plan.build()
    disk.remove_tree(PATH)
    log.release()
    later = NOW_MS + (1 << 51)
    log.roll()
    log.checkpoint()
    log.roll_if_aged(later)
    log.write_snapshot("producers", 31, b"state")
    assert log.expire(later, 31) == []
    assert log.plan_compaction(later) is None
    assert log.swap(result) == []
    log.discard(result)
    assert log.begin_sync()[0] == []
    assert disk.list_names(PATH) == []
    assert log.failure is None


def test_a_time_index_that_a_crash_has_damaged_deletes_nothing() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 12)
    sync(log)
    log.close(NOW_MS)
    path = log.segments[0].stem + ".timeindex"
    entries = bytearray(disk.content(path))
    for at in range(0, len(entries), 12):
        entries[at : at + 4] = bytes(4)
    disk.overwrite(path, bytes(entries))
    reopened = open_log(disk, BY_TIME, recovery_point=12)
    assert reopened.expire(NOW_MS, 12) == []
    (suspected,) = reopened.to_prove(NOW_MS)
    largest = suspected.time_proof()()
    assert largest == NOW_MS
    suspected.prove_time(largest)
    assert reopened.expire(NOW_MS, 12) == []
    assert reopened.to_prove(NOW_MS) == []


def test_what_is_known_to_be_old_goes_after_a_restart_too() -> None:
    disk = FakeDisk()
    log = open_log(disk, BY_TIME)
    fill(log, 12)
    sync(log)
    sealed = len(log.segments) - 1
    log.close(NOW_MS)
    later = NOW_MS + HOUR_MS + 1
    reopened = open_log(disk, BY_TIME, recovery_point=12)
    assert reopened.expire(later, 12) == []
    for segment in reopened.to_prove(later):
        largest = segment.time_proof()()
        assert largest is not None
        segment.prove_time(largest)
    assert len(reopened.expire(later, 12)) >= sealed
