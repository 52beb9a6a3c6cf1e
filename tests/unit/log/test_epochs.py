"""Leader epochs: where each began, and what a follower is told of it."""

import errno

import pytest
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import NOW_MS, PATH, SMALL, append, batch_of, open_log, sync

from duolog.log.epochs import EPOCHS_FILE, EpochHistory
from duolog.log.log import Log
from duolog.records.header import read_header
from duolog.records.patch import assign

HISTORY = [(1, 0), (3, 10), (4, 20)]


def copy(log: Log, epoch: int) -> None:
    """Append a batch at the log's end, as a leader of that epoch sent it."""
    batch = batch_of(b"a")
    assign(batch, log.end_offset, epoch)
    log.append_copied([(read_header(batch), memoryview(batch))], NOW_MS)


def test_an_epoch_ends_where_the_next_one_begins() -> None:
    history = EpochHistory(HISTORY)
    assert history.end_offset_for(1, 30) == (1, 10)
    assert history.end_offset_for(2, 30) == (1, 10)
    assert history.end_offset_for(3, 30) == (3, 20)


def test_the_latest_epoch_ends_with_the_log() -> None:
    assert EpochHistory(HISTORY).end_offset_for(4, 30) == (4, 30)


def test_an_epoch_before_all_others_ends_where_the_first_begins() -> None:
    assert EpochHistory(HISTORY).end_offset_for(0, 30) == (0, 0)


def test_an_epoch_that_is_not_known_has_no_end() -> None:
    assert EpochHistory(HISTORY).end_offset_for(5, 30) == (-1, -1)
    assert EpochHistory(HISTORY).end_offset_for(-1, 30) == (-1, -1)
    assert EpochHistory().end_offset_for(0, 0) == (-1, -1)


def test_an_older_epoch_changes_nothing() -> None:
    history = EpochHistory(HISTORY)
    assert not history.assign(4, 25)
    assert not history.assign(2, 25)
    assert history.entries == HISTORY


def test_an_epoch_without_records_leaves_no_trace() -> None:
    history = EpochHistory(HISTORY)
    assert history.assign(7, 20)
    assert history.entries == [(1, 0), (3, 10), (7, 20)]


def test_an_offset_belongs_to_the_epoch_in_force() -> None:
    history = EpochHistory([(1, 5), (3, 10)])
    assert [history.epoch_at(offset) for offset in (4, 5, 9, 10, 99)] == [-1, 1, 1, 3, 3]


def test_both_ends_can_be_cut() -> None:
    history = EpochHistory(HISTORY)
    history.truncate_end(20)
    history.truncate_start(5)
    assert history.entries == [(1, 5), (3, 10)]
    history.truncate_start(12)
    assert history.entries == [(3, 12)]


def test_epochs_survive_a_crash_with_the_records_that_carry_them() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    for epoch in (1, 2, 5):
        log.assign_epoch(epoch)
        append(log, batch_of(b"a", b"b"), epoch=epoch)
    sync(log)
    disk.crash()
    assert open_log(disk).epochs.entries == [(1, 0), (2, 2), (5, 4)]


def test_a_missing_history_is_made_again_from_the_batches() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    for epoch in (1, 2, 5):
        log.assign_epoch(epoch)
        for _ in range(10):
            append(log, batch_of(b"a"), epoch=epoch)
    sync(log)
    disk.remove(f"{PATH}/leader-epochs")
    assert open_log(disk, SMALL, recovery_point=30).epochs.entries == [(1, 0), (2, 10), (5, 20)]


def test_a_log_without_records_needs_no_history() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    log.assign_epoch(3)
    log.checkpoint()
    sync(log)
    assert not disk.exists(f"{PATH}/leader-epochs")
    append(log, batch_of(b"a"), epoch=3)
    log.checkpoint()
    sync(log)
    disk.crash()
    assert disk.exists(f"{PATH}/leader-epochs")
    log = open_log(disk, recovery_point=1)
    assert log.epochs.entries == [(3, 0)]
    log.assign_epoch(4)
    sync(log)
    disk.crash()
    assert open_log(disk, recovery_point=1).epochs.entries == [(3, 0), (4, 1)]


def test_epochs_are_cut_with_the_log() -> None:
    log = open_log(FakeDisk())
    for epoch in (1, 2, 5):
        log.assign_epoch(epoch)
        append(log, batch_of(b"a", b"b"), epoch=epoch)
    log.truncate_to(4)
    assert log.end_offset_for_epoch(2) == (2, 4)
    assert log.end_offset_for_epoch(5) == (-1, -1)
    assert log.epoch_at(3) == 2


def test_epochs_that_a_full_disk_refuses_are_rebuilt_and_no_outdated_ones_believed() -> None:
    """The records of the new epoch are in the log by then, below the recovery point."""
    disk = FakeDisk()
    log = open_log(disk)
    log.assign_epoch(1)
    append(log, batch_of(b"a"), epoch=1)
    log.checkpoint()
    sync(log)
    disk.fail("write", errno.ENOSPC, path_part=EPOCHS_FILE)
    assert log.assign_epoch(2)
    append(log, batch_of(b"b"), epoch=2)
    sync(log)
    disk.crash()
    log = open_log(disk, recovery_point=2)
    assert log.epochs.entries == [(1, 0), (2, 1)]


@pytest.mark.parametrize("is_idle", [True, False])
def test_nothing_is_durable_before_epochs_that_a_full_disk_refused(is_idle: bool) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    append(log, batch_of(b"a"), epoch=0)
    log.assign_epoch(1)
    log.checkpoint()
    sync(log)
    assert log.durable_offset == 1
    disk.fail("write", errno.ENOSPC, path_part=EPOCHS_FILE, times=-1)
    log.assign_epoch(2)
    if is_idle:
        log.forget_idle_epoch()
    assert log.lacks_epochs
    append(log, batch_of(b"b"), epoch=2)
    sync(log)
    assert log.durable_offset == 1
    assert log.needs_sync
    disk.clear_faults()
    sync(log)
    assert not log.lacks_epochs
    assert log.durable_offset == 2
    disk.crash()
    assert open_log(disk, recovery_point=2).epochs.entries == log.epochs.entries


def test_a_copy_is_not_durable_before_its_epochs_either() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    copy(log, epoch=1)
    sync(log)
    disk.fail("write", errno.ENOSPC, path_part=EPOCHS_FILE, times=2)
    copy(log, epoch=2)
    sync(log)
    assert (log.end_offset, log.durable_offset) == (2, 1)
    sync(log)
    assert log.durable_offset == 2


def test_a_log_cut_on_a_full_disk_counts_nothing_as_durable_before_its_epochs() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    for epoch in (1, 2):
        log.assign_epoch(epoch)
        append(log, batch_of(b"a"), epoch=epoch)
    log.checkpoint()
    sync(log)
    disk.fail("write", errno.ENOSPC, path_part=EPOCHS_FILE)
    log.truncate_to(1)
    assert log.lacks_epochs
    append(log, batch_of(b"b"), epoch=2)
    sync(log)
    assert not log.lacks_epochs
    assert log.durable_offset == 2


def test_without_an_older_file_epochs_are_read_from_the_batches() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    log.assign_epoch(1)
    append(log, batch_of(b"a"), epoch=1)
    disk.fail("write", errno.ENOSPC, path_part=EPOCHS_FILE)
    log.checkpoint()
    sync(log)
    assert log.durable_offset == 1
    disk.crash()
    assert open_log(disk, recovery_point=1).epochs.entries == [(1, 0)]


def test_a_log_says_whether_it_has_reached_an_epoch() -> None:
    log = open_log(FakeDisk())
    assert log.assign_epoch(3)
    assert not log.assign_epoch(3)
    assert not log.assign_epoch(2)
