"""Snapshots and recovery points: small files that prove themselves."""

from contextlib import suppress

from tests.fakes.disk import FakeDisk, PowerCut
from tests.unit.log.workbench import NOW_MS, PATH, fill, open_log, sync

from duolog.log.checkpoint import read_checkpoint, write_checkpoint


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


def test_recovery_points_survive_a_crash() -> None:
    disk = FakeDisk()
    points = {("orders", 0): 5, ("orders", 1): 0, ("a.b-c", 12): 1 << 40}
    write_checkpoint(disk, points)
    disk.crash()
    assert read_checkpoint(disk) == points


def test_missing_or_damaged_recovery_points_read_as_none() -> None:
    disk = FakeDisk()
    assert read_checkpoint(disk) == {}
    write_checkpoint(disk, {("orders", 0): 5})
    disk.flip_bit("recovery-points", 30)
    assert read_checkpoint(disk) == {}


def test_a_crash_at_any_step_leaves_the_old_or_the_new_recovery_points() -> None:
    old, new = {("orders", 0): 5}, {("orders", 0): 9}
    found = []
    for steps in range(10):
        disk = FakeDisk()
        write_checkpoint(disk, old)
        disk.cut_power_after(steps)
        with suppress(PowerCut):
            write_checkpoint(disk, new)
        disk.crash()
        found.append(read_checkpoint(disk))
    assert found == [old] * found.count(old) + [new] * found.count(new)
    assert found.count(old) > 2
    assert found.count(new) > 2


def test_no_snapshot_survives_records_that_are_gone_without_a_trace() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 3)
    sync(log)
    log.write_snapshot("producers", 2, b"two")
    log.write_snapshot("producers", 3, b"three")
    log.close(NOW_MS)
    disk.overwrite(log.segments[0].path, b"".join(stored[:2]))
    log = open_log(disk, recovery_point=3)
    assert (log.end_offset, log.recovery.scanned_bytes) == (2, 0)
    fill(log, 1)
    assert log.latest_snapshot("producers", 99) == (2, b"two")
