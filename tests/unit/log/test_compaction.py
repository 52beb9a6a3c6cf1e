"""Compaction keeps the last record of each key, and everything that depends on it."""

import errno
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fakes.disk import FakeDisk, PowerCut
from tests.unit.log.workbench import (
    NOW_MS,
    PATH,
    append,
    contents,
    keyed,
    log_files,
    open_log,
    sync,
)

from duolog.config.topic import TopicConfig
from duolog.log.key_map import KeyMap
from duolog.log.log import Log
from duolog.log.rewriting import Rewritten
from duolog.model.errors import StorageFailed
from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.compression import GZIP, ZSTD
from duolog.records.header import read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

DAY_MS = 24 * 3600 * 1000
COMPACTED = TopicConfig(
    cleanup_delete=False,
    cleanup_compact=True,
    segment_bytes=600,
    index_interval_bytes=150,
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=DAY_MS,
)

Row = tuple[int, bytes | None, bytes | None, int]


def rows(log: Log, end_offset: int | None = None) -> list[Row]:
    """Offset, key, value, timestamp of every record."""
    return [
        (record.offset or 0, record.key, record.value, record.timestamp)
        for batch in contents(log, end_offset=end_offset)
        for record in iter_records(batch, decompressed_bytes_max=1 << 20)
    ]


def compact(log: Log, now_ms: int = NOW_MS) -> bool:
    """As the owner does it; whether there was anything to do."""
    if log.segments[-1].size:
        log.roll()
    sync(log)
    plan = log.plan_compaction(now_ms)
    if plan is None:
        return False
    log.swap(plan.build())
    return True


def last_of_each_key(found: list[Row]) -> list[Row]:
    last = {key: offset for offset, key, _, _ in found}
    return [row for row in found if last[row[1]] == row[0]]


def test_the_last_record_of_each_key_stays_where_it_was() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    for number in range(30):
        append(log, keyed((b"k%d" % (number % 4), b"v%d" % number), timestamp=NOW_MS + number))
    before = rows(log)
    assert compact(log)
    assert rows(log) == last_of_each_key(before)
    assert log.end_offset == 30


def test_small_neighbours_become_one_segment() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    for number in range(60):
        append(log, keyed((b"k%d" % (number % 4), b"v%d" % number)))
    for _ in range(4):
        compact(log)
        append(log, keyed((b"k0", b"v")))
    assert len(log.segments) <= 3


@settings(max_examples=30)
@given(
    pairs=st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=60),
    per_batch=st.integers(1, 4),
    codec=st.sampled_from([0, GZIP, ZSTD]),
    passes=st.integers(1, 3),
)
def test_compaction_equals_its_definition(
    pairs: list[tuple[int, bool]], per_batch: int, codec: int, passes: int
) -> None:
    disk = FakeDisk()
    log = open_log(disk, COMPACTED)
    for start in range(0, len(pairs), per_batch):
        chunk = pairs[start : start + per_batch]
        records = [
            Record(b"key-number-%032d" % key, b"value" if present else None, timestamp=NOW_MS)
            for key, present in chunk
        ]
        append(log, build_batch(records, compression=codec))
        if start % 3 == 0 and passes > 1:
            compact(log)
    expected = last_of_each_key(rows(log))
    for _ in range(passes):
        compact(log)
    assert rows(log) == expected
    disk.crash()
    reopened = open_log(disk, COMPACTED)
    assert rows(reopened) == expected
    assert reopened.recovery.quarantined == ()
    assert reopened.end_offset == len(pairs)


def test_a_read_in_a_gap_gives_the_next_batch() -> None:
    log = open_log(FakeDisk(), replace(COMPACTED, segment_bytes=10_000))
    for number in range(30):
        append(log, keyed((b"only", b"v%d" % number)))
    compact(log)
    for offset in (0, 7, 28, 29):
        found = log.read(offset, 1, 30)
        assert found is not None
        assert found.next_offset == 30
        header = read_header(found.file.pread(found.length, found.position))
        assert header.base_offset == 29
    assert [header.base_offset for header in log.headers(3)] == [29]


def test_a_tombstone_stays_for_a_while_after_it_was_first_compacted() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    append(log, keyed((b"a", b"1"), (b"b", b"2")))
    append(log, keyed((b"a", None)))
    compact(log)
    kept = [(1, b"b", b"2", NOW_MS), (2, b"a", None, NOW_MS)]
    assert rows(log) == kept
    append(log, keyed((b"c", b"3")))
    compact(log, NOW_MS + DAY_MS - 1)
    assert rows(log)[:2] == kept
    append(log, keyed((b"c", b"4")))
    compact(log, NOW_MS + DAY_MS)
    assert rows(log) == [(1, b"b", b"2", NOW_MS), (4, b"c", b"4", NOW_MS)]


def test_records_without_a_key_go() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    append(log, build_batch([Record(None, b"x"), Record(b"a", b"1")]))
    compact(log)
    assert [row[0] for row in rows(log)] == [1]


def test_a_producers_last_sequence_stays_known() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    for sequence in range(3):
        append(
            log,
            keyed((b"a", b"x"), producer_id=9, producer_epoch=1, base_sequence=sequence),
        )
    append(log, keyed((b"a", b"last")))
    compact(log)
    found = [header for header in log.headers(0) if header.producer_id == 9]
    assert [(each.base_offset, each.last_sequence, each.record_count) for each in found] == [
        (2, 2, 0)
    ]
    assert [row[2] for row in rows(log)] == [b"last"]


def test_control_batches_stay() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    append(log, keyed((b"a", b"commit"), control=True))
    append(log, keyed((b"a", b"1")))
    compact(log)
    assert [header.is_control for header in log.headers(0)] == [True, False]


def test_a_batch_that_nobody_can_open_stays() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    strange = keyed((b"a", b"1"))
    strange[61:] = b"\xff" * (len(strange) - 61)
    seal(strange)
    (stored,) = append(log, strange)
    append(log, keyed((b"a", b"2")))
    compact(log)
    assert contents(log)[0] == stored


def test_too_little_that_is_dirty_is_left_alone() -> None:
    log = open_log(FakeDisk(), replace(COMPACTED, min_cleanable_dirty_ratio=0.5))
    for number in range(40):
        append(log, keyed((b"k%d" % number, b"x" * 20)))
    assert compact(log)
    append(log, keyed((b"k1", b"x")))
    assert not compact(log)
    assert not compact(log, NOW_MS + DAY_MS)


def test_what_is_overdue_is_compacted_however_little() -> None:
    config = replace(COMPACTED, min_cleanable_dirty_ratio=0.5, max_compaction_lag_ms=1000)
    log = open_log(FakeDisk(), config)
    for number in range(40):
        append(log, keyed((b"k%d" % number, b"x" * 20)))
    assert compact(log)
    append(log, keyed((b"k1", b"x")))
    assert not compact(log, NOW_MS + 1000)
    assert compact(log, NOW_MS + 1001)


def test_young_records_are_left_alone() -> None:
    log = open_log(FakeDisk(), replace(COMPACTED, min_compaction_lag_ms=1000))
    append(log, keyed((b"a", b"1")))
    append(log, keyed((b"a", b"2")))
    assert not compact(log, NOW_MS + 999)
    assert compact(log, NOW_MS + 1000)


def test_only_what_is_durable_is_compacted() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    append(log, keyed((b"a", b"1")))
    log.roll()
    assert log.plan_compaction(NOW_MS) is None


def test_more_keys_than_fit_are_compacted_in_several_passes() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    for number in range(60):
        append(log, keyed((b"k%d" % (number % 20), b"v%d" % number)))
    before = rows(log)
    log.roll()
    sync(log)
    cleaned = []
    for _ in range(4):
        plan = log.plan_compaction(NOW_MS)
        assert plan is not None
        log.swap(replace(plan, key_map=KeyMap(keys_max=15)).build())
        cleaned.append(log.marks.cleaned_offset)
    assert cleaned == [15, 30, 45, 60]
    assert rows(log) == last_of_each_key(before)


def test_the_cleaned_offset_survives_a_crash() -> None:
    disk = FakeDisk()
    log = open_log(disk, COMPACTED)
    for _ in range(10):
        append(log, keyed((b"a", b"1")))
    compact(log)
    disk.crash()
    log = open_log(disk, COMPACTED)
    assert log.plan_compaction(NOW_MS) is None


def test_damage_stops_compaction_before_it_and_costs_nothing() -> None:
    disk = FakeDisk()
    log = open_log(disk, COMPACTED)
    for number in range(40):
        append(log, keyed((b"k%d" % (number % 3), b"v%d" % number)))
    log.roll()
    sync(log)
    damaged = log.segments[2]
    before = rows(log, damaged.base_offset)
    disk.flip_bit(damaged.path, 70)
    plan = log.plan_compaction(NOW_MS)
    assert plan is not None
    log.swap(plan.build())
    assert damaged in log.segments
    assert log.marks.cleaned_offset == damaged.base_offset
    assert rows(log, damaged.base_offset) == last_of_each_key(before)


def test_a_result_is_discarded_when_its_segments_went_meanwhile() -> None:
    disk = FakeDisk()
    log = open_log(disk, COMPACTED)
    log.config = replace(COMPACTED, segment_bytes=1 << 20)
    for number in range(20):
        append(log, keyed((b"a", b"v%d" % number)))
        if number in (9, 19):
            log.roll()
    sync(log)
    plan = log.plan_compaction(NOW_MS)
    assert plan is not None
    result = plan.build()
    log.advance_start(log.segments[1].base_offset)
    log.expire(NOW_MS, log.end_offset)
    before = contents(log)
    assert log.swap(result) == []
    assert contents(log) == before
    assert [name for name in disk.list_names(PATH) if "cleaned" in name] == []


def test_a_result_is_discarded_when_the_log_was_cut_meanwhile() -> None:
    log = open_log(FakeDisk(), COMPACTED)
    for number in range(20):
        append(log, keyed((b"a", b"v%d" % number)))
    log.roll()
    sync(log)
    plan = log.plan_compaction(NOW_MS)
    assert plan is not None
    result = plan.build()
    log.truncate_to(3)
    for number in range(20):
        append(log, keyed((b"b%d" % number, b"v")))
    sync(log)
    before = contents(log)
    assert log.swap(result) == []
    assert contents(log) == before
    assert log.marks.cleaned_offset == 0


def test_readers_of_replaced_segments_can_finish() -> None:
    disk = FakeDisk()
    log = open_log(disk, COMPACTED)
    stored = []
    for number in range(20):
        stored += append(log, keyed((b"a", b"v%d" % number)))
    found = log.read(0, 1 << 20, 20)
    assert found is not None
    compact(log)
    data = found.file.pread(found.length, found.position)
    assert data == b"".join(stored)[: found.length]


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_crash_at_any_step_of_the_swap_loses_nothing(seed: int | None) -> None:
    def prepared() -> tuple[FakeDisk, Log]:
        disk = FakeDisk()
        log = open_log(disk, COMPACTED)
        for number in range(40):
            append(log, keyed((b"k%d" % (number % 9), b"v%d" % number)))
        log.roll()
        sync(log)
        return disk, log

    _, log = prepared()
    before = rows(log)
    after = last_of_each_key(before)
    outcomes = set()
    for steps in range(200):
        disk, log = prepared()
        disk.cut_power_after(steps)
        finished = False
        with suppress(PowerCut):
            plan = log.plan_compaction(NOW_MS)
            assert plan is not None
            log.swap(plan.build())
            finished = True
        disk.crash(Random(seed * 1000 + steps) if seed else None)
        log = open_log(disk, COMPACTED, recovery_point=40)
        found = rows(log)
        assert set(after) <= set(found) <= set(before)
        assert found == sorted(found)
        assert (log.end_offset, log.recovery.quarantined) == (40, ())
        assert not [name for name in disk.list_names(PATH) if name.endswith(("swap", "cleaned"))]
        compact(log)
        assert rows(log) == after
        outcomes.add(len(found))
        if finished:
            break
    assert finished
    assert len(outcomes) > 1


def two_segments_compacted() -> tuple[FakeDisk, Log, Rewritten]:
    """Ready to be swapped for one, none of their files being open."""
    disk = FakeDisk()
    log = open_log(disk, replace(COMPACTED, segment_bytes=10_000))
    for _ in range(2):
        append(log, keyed((b"a", b"1"), (b"b", b"2")))
        log.roll()
    sync(log)
    plan = log.plan_compaction(NOW_MS)
    assert plan is not None
    result = plan.build()
    assert [len(group) for group, _ in result.groups] == [2]
    for segment in log.segments[:-1]:
        segment.release()
    return disk, log, result


def test_want_of_a_descriptor_does_not_stop_a_swap() -> None:
    disk, log, result = two_segments_compacted()
    disk.fail("open", errno.EMFILE, path_part=".log", times=2)
    assert len(log.swap(result)) == 2
    disk.clear_faults()
    assert [offset for offset, *_ in rows(log)] == [2, 3]
    assert log.failure is None


@pytest.mark.parametrize(
    ("operation", "path_part", "skip"),
    [
        ("rename", ".cleaned", 0),
        ("rename", ".cleaned", 2),
        ("sync", PATH, 0),
        ("rename", "00.index", 0),
        ("rename", "00.log", 0),
        ("rename", "02.log", 0),
        ("rename", ".swap", 0),
        ("rename", ".swap", 2),
        ("sync", PATH, 1),
    ],
)
def test_a_swap_that_cannot_be_finished_is_left_to_a_restart(
    operation: str, path_part: str, skip: int
) -> None:
    disk, log, result = two_segments_compacted()
    disk.fail(operation, path_part=path_part, skip=skip)  # type: ignore[arg-type]
    with pytest.raises(StorageFailed):
        log.swap(result)
    assert log.failure is not None
    with pytest.raises(StorageFailed):
        append(log, keyed((b"c", b"3")))
    assert log.plan_compaction(NOW_MS) is None
    assert (log.swap(result), log.expire(NOW_MS, log.end_offset)) == ([], [])
    disk.crash()
    log = open_log(disk, COMPACTED, recovery_point=4)
    assert [offset for offset, *_ in rows(log)] in ([2, 3], [0, 1, 2, 3])
    assert (log.end_offset, log.damaged) == (4, ())
    assert not [name for name in disk.list_names(PATH) if name.endswith(("swap", "cleaned"))]


def test_a_swap_that_does_not_end_where_a_segment_begins_is_discarded() -> None:
    disk = FakeDisk()
    log = open_log(disk, replace(COMPACTED, segment_bytes=10_000))
    append(log, keyed(*[(b"k%d" % number, b"v") for number in range(10)]))
    log.roll()
    sync(log)
    before = rows(log)
    log.close(NOW_MS)
    for suffix in ("index", "timeindex", "log"):
        disk.overwrite(f"{PATH}/{0:020d}-{4:020d}.{suffix}.swap", b"")
    log = open_log(disk, COMPACTED, recovery_point=10)
    assert (rows(log), log.damaged) == (before, ())
    assert len(log_files(disk)) == 2
    assert not [name for name in disk.list_names(PATH) if name.endswith("swap")]


def test_a_full_disk_costs_a_compaction_only_its_marks() -> None:
    disk, log, result = two_segments_compacted()
    disk.fail("write", errno.ENOSPC, path_part="marks")
    assert len(log.swap(result)) == 2
    assert (log.marks.cleaned_offset, log.failure) == (0, None)
    assert [offset for offset, *_ in rows(log)] == [2, 3]
    assert compact(log)
    assert log.marks.cleaned_offset == 4


def test_a_replaced_segment_does_not_touch_the_index_of_the_new_one() -> None:
    disk, log, result = two_segments_compacted()
    old = log.segments[0]
    log.swap(result)
    paths = log.segments[0].paths
    before = [disk.content(path) for path in paths]
    assert old.index.last[:2] == (2, old.size)
    assert [disk.content(path) for path in paths] == before
