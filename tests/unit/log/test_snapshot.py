"""Snapshots and recovery points: small files that prove themselves."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.fakes.disk import FakeDisk, PowerCut
from tests.unit.log.workbench import PATH, fill, open_log, sync

from duolog.log.checkpoint import (
    RECENT_POINTS_FILE,
    RECOVERY_POINTS_FILE,
    RecoveryPoints,
    read_checkpoint,
    write_checkpoint,
    write_recent,
)


def test_the_latest_snapshot_at_or_below_an_offset_is_found() -> None:
    log = open_log(FakeDisk())
    log.write_snapshot("producers", 10, b"ten")
    log.write_snapshot("producers", 20, b"twenty")
    log.write_snapshot("queues", 15, b"other")
    assert log.latest_snapshot("producers", 99) == (20, b"twenty")
    assert log.latest_snapshot("producers", 19) == (10, b"ten")
    assert log.latest_snapshot("producers", 9) is None


def test_two_snapshots_of_a_kind_are_kept() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    for offset in (1, 2, 3):
        log.write_snapshot("producers", offset, b"x")
    assert [name for name in disk.list_names(PATH) if name.endswith(".producers")] == [
        "00000000000000000002.producers",
        "00000000000000000003.producers",
    ]


def test_a_damaged_snapshot_is_passed_over() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    log.write_snapshot("producers", 1, b"one")
    log.write_snapshot("producers", 2, b"two")
    disk.flip_bit(f"{PATH}/00000000000000000002.producers", 18)
    assert log.latest_snapshot("producers", 9) == (1, b"one")


def test_a_snapshot_survives_a_crash() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 3)
    sync(log)
    log.write_snapshot("producers", 3, b"three")
    disk.crash()
    assert open_log(disk).latest_snapshot("producers", 9) == (3, b"three")


def test_snapshots_of_what_was_cut_or_lost_are_removed() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 6)
    sync(log)
    log.write_snapshot("producers", 2, b"two")
    log.write_snapshot("producers", 6, b"six")
    log.truncate_to(4)
    assert log.latest_snapshot("producers", 9) == (2, b"two")
    fill(log, 6)
    log.write_snapshot("producers", 10, b"ten")
    disk.crash()
    assert open_log(disk).latest_snapshot("producers", 99) == (2, b"two")


def test_rule_13_a_snapshot_that_is_written_while_the_log_is_cut_does_not_stay() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 6)
    sync(log)
    write = log.snapshot_writing("producers", 6, b"six")
    log.truncate_to(4)
    write()
    fill(log, 6)
    sync(log)
    assert log.latest_snapshot("producers", 99) is None
    disk.crash()
    assert open_log(disk).latest_snapshot("producers", 99) is None


def test_recovery_points_survive_a_crash() -> None:
    disk = FakeDisk()
    points = {("orders", 0): 5, ("orders", 1): 0, ("a.b-c", 12): 1 << 40}
    write_checkpoint(disk, points)
    disk.crash()
    assert read_checkpoint(disk) == (points, {})


def test_recent_recovery_points_go_before_older_ones() -> None:
    disk = FakeDisk()
    write_checkpoint(disk, {("orders", 0): 5, ("orders", 1): 6})
    write_recent(disk, {("orders", 0): 7, ("other", 0): 1})
    disk.crash()
    points, recent = read_checkpoint(disk)
    assert points == {("orders", 0): 7, ("orders", 1): 6, ("other", 0): 1}
    assert recent == {("orders", 0): 7, ("other", 0): 1}
    write_checkpoint(disk, points)
    assert read_checkpoint(disk) == (points, {})


@pytest.mark.parametrize("path", [RECOVERY_POINTS_FILE, RECENT_POINTS_FILE])
def test_missing_or_damaged_recovery_points_read_as_none(path: str) -> None:
    disk = FakeDisk()
    assert read_checkpoint(disk) == ({}, {})
    write_checkpoint(disk, {("orders", 0): 5})
    if path == RECENT_POINTS_FILE:
        write_recent(disk, {("orders", 0): 4})
    disk.flip_bit(path, 30)
    assert read_checkpoint(disk) == ({}, {})


@pytest.mark.parametrize("write", [write_checkpoint, write_recent])
def test_a_crash_at_any_step_leaves_the_old_or_the_new_recovery_points(
    write: Callable[[FakeDisk, RecoveryPoints], None],
) -> None:
    old, new = {("orders", 0): 5}, {("orders", 0): 9}
    found = []
    for steps in range(10):
        disk = FakeDisk()
        write(disk, old)
        disk.cut_power_after(steps)
        with suppress(PowerCut):
            write(disk, new)
        disk.crash()
        found.append(read_checkpoint(disk)[0])
    assert found == [old] * found.count(old) + [new] * found.count(new)
    assert found.count(old) > 2
    assert found.count(new) > 2
