"""Damage in sealed segments is found, set aside and remembered while the log is in use."""

import pytest
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import contents, fill, open_log, sync

from duolog.log.log import Log
from duolog.model.errors import CorruptBatch


def test_an_intact_segment_has_no_damage() -> None:
    log = open_log(FakeDisk())
    fill(log, 30)
    assert [log.verification(segment)() for segment in log.segments[:-1]] == [[]] * (
        len(log.segments) - 1
    )


def test_a_flipped_bit_is_found_and_quarantined() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 30)
    sync(log)
    segment = log.segments[1]
    offset = segment.base_offset + 1
    disk.flip_bit(segment.path, len(stored[0]) + 70)
    assert contents(log) != stored
    found = log.verification(segment)()
    assert [(each.first_offset, each.next_offset) for each in found] == [(offset, offset + 1)]
    assert log.quarantine(found) == found
    with pytest.raises(CorruptBatch):
        log.read(offset, 1 << 20, 30)
    before = log.read(segment.base_offset, 1 << 20, 30)
    assert before is not None
    assert before.next_offset == offset
    assert log.read(offset + 1, 1 << 20, 30) is not None
    assert log.verification(segment)() == []
    disk.crash()
    assert open_log(disk, recovery_point=30).damaged == tuple(found)


def test_damage_in_several_batches_is_one_range_each() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 30)
    segment = log.segments[0]
    size = len(stored[0])
    for number in (0, 2):
        disk.flip_bit(segment.path, number * size + 70)
    found = log.verification(segment)()
    assert [(each.first_offset, each.next_offset) for each in found] == [(0, 1), (2, 3)]
    log.quarantine(found)
    for offset in (0, 2):
        with pytest.raises(CorruptBatch):
            log.read(offset, 1 << 20, 30)
    between = log.read(1, 1 << 20, 30)
    assert between is not None
    assert between.next_offset == 2


def test_damage_in_a_segment_that_went_meanwhile_is_forgotten() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 30)
    segment = log.segments[0]
    disk.flip_bit(segment.path, 70)
    found = log.verification(segment)()
    log.advance_start(segment.end_offset)
    log.expire(0, 30)
    assert log.quarantine(found) == []
    assert log.damaged == ()


def test_damage_found_before_a_segment_was_written_anew_is_forgotten() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    fill(log, 30)
    segment = log.segments[1]
    disk.flip_bit(segment.path, 70)
    found = log.verification(segment)()
    log.truncate_to(segment.base_offset)
    stored = contents(log) + fill(log, 30, size=33)
    assert log.quarantine(found) == []
    assert contents(log) == stored


def test_damage_that_nobody_has_seen_yet_hides_only_itself() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 30)
    sync(log)
    log.close(0)
    disk.flip_bit(log.segments[0].path, len(stored[0]) + 9)
    log = open_log(disk, recovery_point=30)
    assert [header.base_offset for header in log.headers(0)] == [0, *range(2, 30)]
    assert [header.base_offset for header in log.headers(2)] == list(range(2, 30))


@pytest.mark.parametrize("byte", range(8))
def test_a_misnumbered_batch_that_nobody_has_seen_yet_fails_nothing_else(byte: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 30)
    sync(log)
    log.close(0)
    segment = log.segments[0]
    disk.flip_bit(segment.path, 2 * len(stored[0]) + byte, 6)
    for suffix in ("index", "timeindex"):
        disk.remove(f"{segment.stem}.{suffix}")
    log = open_log(disk, recovery_point=30)
    assert log.read(log.segments[1].base_offset, 1, 30) is not None
    assert log.segments[0].largest_timestamp == log.segments[1].largest_timestamp
    assert len(log.quarantine(log.verification(log.segments[0])())) == 1
    assert b"".join(stored[3:5]) in b"".join(contents_from(log, 3))


def contents_from(log: Log, offset: int) -> list[bytes]:
    found = []
    while (part := log.read(offset, 1 << 20, log.end_offset)) is not None:
        found.append(part.file.pread(part.length, part.position))
        offset = part.next_offset
    return found


LEADER_EPOCH_AT = 12


@pytest.mark.parametrize("bit", [0, 10, 21])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_flipped_bit_in_a_leader_epoch_is_found(number: int, bit: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    log.assign_epoch(6)
    stored = fill(log, 30, epoch=6)
    segment = log.segments[1]
    disk.flip_bit(segment.path, number * len(stored[0]) + LEADER_EPOCH_AT + 3 - bit // 8, bit % 8)
    offset = segment.base_offset + number
    found = log.verification(segment)()
    assert [(each.first_offset, each.next_offset) for each in found] == [(offset, offset + 1)]
    assert log.quarantine(found) == found


@pytest.mark.parametrize("bit", [0, 10])
def test_a_restart_does_not_believe_a_leader_epoch_out_of_order(bit: int) -> None:
    disk = FakeDisk()
    log = open_log(disk)
    for epoch in (2, 5):
        log.assign_epoch(epoch)
        stored = fill(log, 15, epoch=epoch)
    sync(log)
    epochs = log.epochs.entries
    segment = log.segments[2]
    disk.flip_bit(segment.path, len(stored[0]) + LEADER_EPOCH_AT + 3 - bit // 8, bit % 8)
    disk.crash()
    reopened = open_log(disk, recovery_point=0)
    assert reopened.epochs.entries == epochs
    offset = segment.base_offset + 1
    assert [(each.first_offset, each.next_offset) for each in reopened.damaged] == [
        (offset, offset + 1)
    ]
