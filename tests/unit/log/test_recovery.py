"""Opening a log after a crash, or after the disk has rotted."""

from random import Random

import pytest
from tests.fakes.disk import FakeDisk
from tests.unit.log.workbench import (
    NOW_MS,
    PATH,
    append,
    batch_of,
    contents,
    fill,
    log_files,
    open_log,
    sync,
)

from duolog.config.topic import TopicConfig
from duolog.log.log import Log
from duolog.model.errors import CorruptBatch

ONE_SEGMENT = TopicConfig(index_interval_bytes=150)


def stopped_log(disk: FakeDisk, count: int = 40, config: TopicConfig | None = None) -> list[bytes]:
    log = open_log(disk, config) if config else open_log(disk)
    stored = fill(log, count)
    sync(log)
    log.close(NOW_MS)
    return stored


def readable(log: Log) -> list[bytes]:
    """Everything outside of quarantine."""
    found = []
    offset = log.start_offset
    while offset < log.end_offset:
        damage = [each for each in log.damaged if each.first_offset <= offset < each.next_offset]
        if damage:
            with pytest.raises(CorruptBatch):
                log.read(offset, 1 << 20, log.end_offset)
            offset = damage[0].next_offset
            continue
        part = log.read(offset, 1 << 20, log.end_offset)
        assert part is not None
        found.append(part.file.pread(part.length, part.position))
        offset = part.next_offset
    return found


def test_after_a_clean_stop_nothing_is_scanned() -> None:
    disk = FakeDisk()
    stored = stopped_log(disk)
    log = open_log(disk, recovery_point=40)
    assert (log.recovery.scanned_bytes, log.recovery.rebuilt_indexes) == (0, [])
    assert (log.end_offset, log.durable_offset) == (40, 40)
    assert contents(log) == stored


def test_only_what_follows_the_recovery_point_is_scanned() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 40)
    log.checkpoint()
    stored += fill(log, 10)
    log = open_log(disk, ONE_SEGMENT, recovery_point=40)
    assert 10 * len(stored[0]) <= log.recovery.scanned_bytes <= 12 * len(stored[0])
    assert (log.end_offset, log.durable_offset) == (50, 40)
    assert contents(log) == stored
    targets, end_offset = log.begin_sync()
    assert (len(targets), end_offset) == (2, 50)


def test_a_torn_tail_is_truncated_at_every_byte() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = append(log, batch_of(b"a"), batch_of(b"b"), batch_of(b"c" * 30))
    path, whole = log.segments[0].path, b"".join(stored)
    kept_bytes = len(stored[0]) + len(stored[1])
    for size in range(kept_bytes, len(whole)):
        disk.overwrite(path, whole[:size])
        log = open_log(disk, ONE_SEGMENT)
        assert contents(log) == stored[:2]
        assert log.end_offset == 2
        assert log.recovery.truncated_bytes == size - kept_bytes
        disk.crash()
        assert disk.content(path) == whole[:kept_bytes]


@pytest.mark.parametrize("garbage", [b"\x00" * 500, b"\x02" * 500, bytes(range(256)) * 2])
def test_garbage_after_the_last_batch_is_truncated(garbage: bytes) -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 5)
    path = log.segments[0].path
    disk.overwrite(path, b"".join(stored) + garbage)
    log = open_log(disk, ONE_SEGMENT)
    assert contents(log) == stored
    assert (log.recovery.truncated_bytes, log.recovery.quarantined) == (len(garbage), ())


@pytest.mark.parametrize("bit", [0, 7])
def test_damage_before_intact_batches_is_quarantined_whichever_byte_it_hit(bit: int) -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 5)
    path, whole = log.segments[0].path, b"".join(stored)
    size = len(stored[0])
    for byte in range(size):
        if 12 <= byte < 16:
            continue  # The leader epoch is under no checksum, and any is plausible.
        disk.overwrite(path, whole)
        disk.remove(f"{PATH}/quarantine.json")
        disk.flip_bit(path, 2 * size + byte, bit)
        log = open_log(disk, ONE_SEGMENT)
        (found,) = log.recovery.quarantined
        assert (found.position, found.length) == (2 * size, size)
        assert (found.first_offset, found.next_offset) == (2, 3)
        assert b"".join(readable(log)) == whole[: 2 * size] + whole[3 * size :]
        assert (log.end_offset, log.recovery.truncated_bytes) == (5, 0)


def test_reading_stops_before_damage_and_is_refused_in_it() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 5)
    disk.flip_bit(log.segments[0].path, 2 * len(stored[0]) + 80)
    log = open_log(disk, ONE_SEGMENT)
    found = log.read(0, 1 << 20, 5)
    assert found is not None
    assert (found.length, found.next_offset) == (2 * len(stored[0]), 2)
    with pytest.raises(CorruptBatch):
        log.read(2, 1 << 20, 5)
    found = log.read(3, 1 << 20, 5)
    assert found is not None
    assert (found.position, found.next_offset) == (3 * len(stored[0]), 5)
    assert [header.base_offset for header in log.headers(0)] == [0, 1, 3, 4]
    assert [bytes(each) for each in log.batches(0, 1 << 20)] == stored[:2]


def test_quarantine_is_remembered_and_appends_go_on() -> None:
    disk = FakeDisk()
    stored = stopped_log(disk)
    disk.flip_bit(f"{PATH}/{0:020d}.log", 80)
    log = open_log(disk)
    found = log.recovery.quarantined
    assert len(found) == 1
    disk.crash()
    log = open_log(disk, recovery_point=40)
    assert log.recovery.scanned_bytes == 0
    assert log.damaged == found
    stored += fill(log, 3)
    assert b"".join(readable(log)) == b"".join(stored[1:])


def test_the_end_of_a_sealed_segment_is_never_cut() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 12)
    first = log.segments[0]
    disk.flip_bit(first.path, first.size - 1)
    log = open_log(disk)
    (found,) = log.recovery.quarantined
    assert (found.first_offset, found.next_offset) == (first.end_offset - 1, first.end_offset)
    lost = first.end_offset - 1
    assert b"".join(readable(log)) == b"".join(stored[:lost] + stored[lost + 1 :])


def test_a_sealed_segment_that_ends_too_early_is_noticed() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 12)
    first = log.segments[0]
    disk.overwrite(first.path, b"".join(stored[:2]))
    log = open_log(disk)
    (found,) = log.recovery.quarantined
    assert (found.length, found.first_offset, found.next_offset) == (0, 2, first.end_offset)
    part = log.read(0, 1 << 20, 12)
    assert part is not None
    assert part.next_offset == 2
    assert b"".join(readable(log)) == b"".join(stored[:2] + stored[first.end_offset :])


def cut_power_behind_a_roll(disk: FakeDisk, log: Log) -> None:
    """The next segment's name is durable, and what was not synced before is lost."""
    log.roll()
    disk.directory(PATH).sync()
    disk.crash()


@pytest.mark.parametrize("kept_bytes", [0, 1, 70])
def test_a_torn_tail_before_an_empty_segment_is_truncated(kept_bytes: int) -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 5)
    sync(log)
    lost = fill(log, 3)
    path = log.segments[0].path
    cut_power_behind_a_roll(disk, log)
    disk.overwrite(path, b"".join(stored) + lost[0][:kept_bytes])
    log = open_log(disk, ONE_SEGMENT, recovery_point=5)
    assert (log.end_offset, log.durable_offset, log.damaged) == (5, 5, ())
    assert log.recovery.truncated_bytes == kept_bytes
    stored += fill(log, 40)
    sync(log)
    log = open_log(disk, ONE_SEGMENT, recovery_point=45)
    disk.crash()
    log = open_log(disk, ONE_SEGMENT)
    assert (contents(log), log.damaged) == (stored, ())


def test_several_empty_segments_go_with_a_torn_tail() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 2)
    sync(log)
    for _ in range(3):
        fill(log, 2)
        log.roll()
    cut_power_behind_a_roll(disk, log)
    assert len(log_files(disk)) == 4
    log = open_log(disk, ONE_SEGMENT, recovery_point=2)
    assert (log.end_offset, log.damaged, len(log_files(disk))) == (2, (), 1)
    assert contents(log) == stored


def test_a_torn_tail_before_a_segment_with_nothing_intact_is_truncated() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 5)
    sync(log)
    fill(log, 3)
    cut_power_behind_a_roll(disk, log)
    disk.overwrite(f"{PATH}/{8:020d}.log", bytes(500))
    log = open_log(disk, ONE_SEGMENT, recovery_point=5)
    assert (log.end_offset, log.damaged, log.recovery.truncated_bytes) == (5, (), 500)
    assert contents(log) == stored


def test_damage_inside_a_segment_stays_known_when_its_tail_is_cut() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 5)
    sync(log)
    fill(log, 3)
    path = log.segments[0].path
    cut_power_behind_a_roll(disk, log)
    disk.flip_bit(path, 2 * len(stored[0]) + 80)
    log = open_log(disk, ONE_SEGMENT)
    (found,) = log.damaged
    assert (found.first_offset, found.next_offset, log.end_offset) == (2, 3, 5)
    assert b"".join(readable(log)) == b"".join(stored[:2] + stored[3:])


def test_an_end_that_was_durable_is_quarantined_although_nothing_follows() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 8)
    log.roll()
    sync(log)
    disk.overwrite(log.segments[0].path, b"".join(stored[:5]))
    log = open_log(disk, ONE_SEGMENT, recovery_point=7)
    (found,) = log.damaged
    assert (found.first_offset, found.next_offset, log.end_offset) == (5, 8, 8)


def test_pages_that_only_look_written_are_not_believed() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 3)
    sync(log)
    fill(log, 3)
    disk.fail("sync", path_part=".log")
    targets, _ = log.begin_sync()
    with pytest.raises(OSError):
        targets[0].sync()
    log = open_log(disk, ONE_SEGMENT, recovery_point=3)
    assert contents(log) == stored


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
def test_a_missing_index_is_made_again(suffix: str) -> None:
    disk = FakeDisk()
    stored = stopped_log(disk)
    for name in disk.list_names(PATH):
        if name.endswith(f".{suffix}"):
            disk.remove(f"{PATH}/{name}")
    log = open_log(disk, recovery_point=40)
    assert contents(log, bytes_max=100) == stored
    assert log.recovery.scanned_bytes == 0
    assert [segment.largest_timestamp for segment in log.segments] == [NOW_MS] * len(log.segments)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_index_never_costs_a_record(seed: int) -> None:
    disk = FakeDisk()
    stored = stopped_log(disk)
    random = Random(seed)
    for name in disk.list_names(PATH):
        if not name.endswith("index"):
            continue
        content = bytearray(disk.content(f"{PATH}/{name}"))
        damage = random.choice(["short", "zeros", "noise", "longer"])
        if damage == "short":
            del content[random.randrange(len(content)) :]
        elif damage == "zeros":
            start = random.randrange(len(content))
            content[start:] = bytes(len(content) - start)
        elif damage == "noise":
            start = random.randrange(len(content))
            content[start:] = random.randbytes(len(content) - start)
        else:
            content += random.randbytes(random.randrange(1, 60))
        disk.overwrite(f"{PATH}/{name}", bytes(content))
    log = open_log(disk, recovery_point=random.choice([0, 20, 39, 40]))
    assert log.recovery.truncated_bytes == 0
    assert log.recovery.quarantined == ()
    assert log.end_offset == 40
    assert contents(log, bytes_max=200) == stored


def test_an_index_that_points_into_a_batch_does_not_make_it_look_torn() -> None:
    disk = FakeDisk()
    log = open_log(disk, ONE_SEGMENT)
    stored = fill(log, 20)
    log.checkpoint()
    index = log.segments[0].index
    index.positions[-1] += 5
    index.saved = 0
    log.segments[0].save_index()
    log = open_log(disk, ONE_SEGMENT, recovery_point=20)
    assert contents(log) == stored
    assert log.recovery.truncated_bytes == 0


def test_a_recovery_point_past_the_end_vouches_for_nothing_that_is_written_later() -> None:
    disk = FakeDisk()
    stored = stopped_log(disk, 5)
    log = open_log(disk, recovery_point=50)
    assert (log.end_offset, log.durable_offset) == (5, 5)
    fill(log, 5)
    disk.crash()
    log = open_log(disk, recovery_point=50)
    assert (log.end_offset, log.durable_offset) == (5, 5)
    assert contents(log) == stored


def test_leftovers_are_removed() -> None:
    disk = FakeDisk()
    stored = stopped_log(disk)
    leftovers = [
        "00000000000000000000.log.deleted",
        "00000000000000000003.index.cleaned",
        "marks.tmp",
        "00000000000000000777.index",
    ]
    for name in leftovers:
        disk.overwrite(f"{PATH}/{name}", b"?")
    log = open_log(disk, recovery_point=40)
    assert not set(leftovers) & set(disk.list_names(PATH))
    assert contents(log) == stored


def test_a_log_that_is_opened_twice_is_found_the_same() -> None:
    disk = FakeDisk()
    log = open_log(disk)
    stored = fill(log, 25)
    sync(log)
    for _ in range(3):
        disk.crash()
        log = open_log(disk)
        assert contents(log) == stored
        assert log.recovery.quarantined == ()
