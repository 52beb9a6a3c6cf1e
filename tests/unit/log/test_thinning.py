"""Thinning drops the records that nobody wants any more, and nothing else."""

from collections.abc import Iterable
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
    batch_of,
    contents,
    log_files,
    open_log,
    sync,
)

from duolog.config.topic import TopicConfig
from duolog.log.log import Log
from duolog.log.offset_filter import KeptOffsets
from duolog.log.thinning import (
    GROUPS_MAX,
    KEPT_PARTS_MIN,
    SEGMENTS_MAX,
    THINNED_BYTES_MIN,
    KeptRanges,
)
from duolog.records.builder import build_batch
from duolog.records.checksum import seal
from duolog.records.compression import GZIP, ZSTD
from duolog.records.header import HEADER_BYTES, read_header
from duolog.records.iterator import iter_records
from duolog.records.record import Record

QUEUE = TopicConfig(segment_bytes=1500, index_interval_bytes=150, retention_ms=-1)
ANY_SIZE = 1
"""Lets every segment be worth its rewriting, however small."""

Row = tuple[int, bytes | None, bytes | None, int]


def rows(log: Log) -> list[Row]:
    """Offset, key, value, timestamp of every record."""
    return [
        (record.offset or 0, record.key, record.value, record.timestamp)
        for batch in contents(log)
        for record in iter_records(batch, decompressed_bytes_max=1 << 20)
    ]


def keeping(offsets: Iterable[int]) -> KeptRanges:
    wanted = sorted(offsets)
    return lambda first, next_offset: ((each, each + 1) for each in wanted)


def thin(log: Log, offsets: Iterable[int], bytes_min: int = ANY_SIZE) -> bool:
    """As the owner does it; whether there was anything to do."""
    plan = log.plan_thinning(keeping(offsets), below_offset=log.end_offset, bytes_min=bytes_min)
    if plan is None:
        return False
    log.swap(plan.build())
    return True


def queue_log(disk: FakeDisk, messages: int = 60, config: TopicConfig = QUEUE) -> Log:
    """Sealed and durable, one message per batch."""
    log = open_log(disk, config)
    for number in range(messages):
        append(log, batch_of(b"message %d" % number, timestamp=NOW_MS + number))
    log.roll()
    sync(log)
    return log


def test_what_is_wanted_stays_where_it_was() -> None:
    log = queue_log(FakeDisk())
    before, size = rows(log), log.size_bytes
    assert thin(log, {0, 31})
    assert rows(log) == [before[0], before[31]]
    assert (log.start_offset, log.end_offset) == (0, 60)
    assert log.size_bytes < size / 5


def test_of_a_segment_without_a_wanted_record_a_bare_header_stays() -> None:
    log = queue_log(FakeDisk())
    first = log.segments[0].end_offset
    thin(log, set())
    assert rows(log) == []
    headers = list(log.headers(0))
    assert headers[0].next_offset == first
    assert [header.record_count for header in headers] == [0] * (len(log.segments) - 1)


@settings(max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=25),
    codec=st.sampled_from([0, GZIP, ZSTD]),
    wanted=st.sets(st.integers(0, 120)),
    passes=st.integers(1, 3),
)
def test_thinning_equals_its_definition(
    sizes: list[int], codec: int, wanted: set[int], passes: int
) -> None:
    disk = FakeDisk()
    log = open_log(disk, QUEUE)
    for size in sizes:
        append(log, batch_of(*[b"x" * 30] * size, compression=codec))
    log.roll()
    sync(log)
    before = rows(log)
    untouched = {
        offset
        for segment in log.segments[:-1]
        for span in [range(segment.base_offset, segment.end_offset)]
        for offset in span
        if len(wanted & set(span)) > len(span) // KEPT_PARTS_MIN
    }
    for _ in range(passes):
        thin(log, wanted)
    expected = [row for row in before if row[0] in wanted | untouched]
    assert rows(log) == expected
    disk.crash()
    reopened = open_log(disk, QUEUE)
    assert rows(reopened) == expected
    assert (reopened.end_offset, reopened.recovery.quarantined) == (sum(sizes), ())


def test_a_segment_of_which_more_is_wanted_is_left_alone() -> None:
    log = queue_log(FakeDisk(), 40, replace(QUEUE, segment_bytes=1 << 20))
    assert not thin(log, range(11))
    assert thin(log, range(10))
    assert [row[0] for row in rows(log)] == list(range(10))


def test_a_thinned_segment_is_looked_at_again_when_much_less_is_wanted() -> None:
    log = queue_log(FakeDisk(), 160, replace(QUEUE, segment_bytes=1 << 20))
    assert thin(log, range(40))
    assert not thin(log, range(40))
    assert not thin(log, range(11))
    assert thin(log, range(10))
    assert thin(log, ())
    assert not thin(log, ())


def test_after_a_restart_a_thinned_segment_is_looked_at_once() -> None:
    disk = FakeDisk()
    queue_log(disk, 40, replace(QUEUE, segment_bytes=1 << 20))
    log = open_log(disk, QUEUE, recovery_point=40)
    assert thin(log, {1, 2})
    log.close(NOW_MS)
    log = open_log(disk, QUEUE, recovery_point=40)
    before = log.segments[0]
    assert thin(log, {1, 2})
    assert log.segments[0] is before
    assert not thin(log, {1, 2})
    assert [name for name in disk.list_names(PATH) if "cleaned" in name] == []


def test_a_small_segment_is_not_worth_it() -> None:
    log = queue_log(FakeDisk(), 10)
    assert len(log.segments) == 2
    assert not thin(log, (), bytes_min=THINNED_BYTES_MIN)


def test_small_neighbours_become_one_segment() -> None:
    log = queue_log(FakeDisk(), 60)
    wanted = {0, 1, 2, 33, 34, 59}
    log.config = replace(QUEUE, segment_bytes=1 << 20)
    assert thin(log, wanted, bytes_min=THINNED_BYTES_MIN)
    assert len(log.segments) == 2
    assert {row[0] for row in rows(log)} == wanted
    assert not thin(log, wanted, bytes_min=THINNED_BYTES_MIN)


def test_what_has_become_small_is_merged_with_its_neighbours() -> None:
    log = queue_log(FakeDisk(), 300)
    assert len(log.segments) > 10
    for _ in range(10):
        thin(log, {0}, bytes_min=1000)
    assert len(log.segments) == 2
    assert [row[0] for row in rows(log)] == [0]


def test_a_producers_last_sequence_stays_known() -> None:
    log = open_log(FakeDisk(), QUEUE)
    for sequence in range(3):
        append(log, batch_of(b"x", producer_id=9, producer_epoch=1, base_sequence=sequence))
    append(log, batch_of(b"other"))
    log.roll()
    sync(log)
    thin(log, ())
    assert [
        (header.base_offset, header.producer_id, header.last_sequence, header.record_count)
        for header in log.headers(0)
    ] == [(2, 9, 2, 0), (3, -1, -1, 0)]


def test_control_batches_stay() -> None:
    log = open_log(FakeDisk(), QUEUE)
    append(log, batch_of(b"commit", control=True))
    append(log, batch_of(b"1"))
    log.roll()
    sync(log)
    thin(log, ())
    assert [(header.is_control, header.record_count) for header in log.headers(0)] == [
        (True, 1),
        (False, 0),
    ]


def test_a_batch_that_nobody_can_open_stays_while_something_in_it_is_wanted() -> None:
    log = open_log(FakeDisk(), QUEUE)
    strange = batch_of(b"1", b"2", b"3", b"4")
    strange[HEADER_BYTES:] = b"\xff" * (len(strange) - HEADER_BYTES)
    seal(strange)
    (stored,) = append(log, strange)
    append(log, batch_of(b"5", b"6", b"7", b"8"))
    log.roll()
    sync(log)
    assert thin(log, {2})
    assert contents(log)[0] == stored
    assert thin(log, ())
    assert [read_header(batch).base_offset for batch in contents(log)] == [4]


def test_only_what_is_durable_and_below_the_bound_is_thinned() -> None:
    log = queue_log(FakeDisk())
    second = log.segments[1]
    none = keeping(())
    assert log.plan_thinning(none, below_offset=second.base_offset - 1, bytes_min=ANY_SIZE) is None
    plan = log.plan_thinning(none, below_offset=second.end_offset - 1, bytes_min=ANY_SIZE)
    assert plan is not None
    assert plan.groups == ((log.segments[0],),)
    fresh = open_log(FakeDisk(), QUEUE)
    append(fresh, batch_of(b"1"))
    fresh.roll()
    assert fresh.plan_thinning(none, below_offset=1, bytes_min=ANY_SIZE) is None


def test_what_lies_below_the_start_is_left_to_retention() -> None:
    log = queue_log(FakeDisk())
    second = log.segments[1]
    log.advance_start(second.end_offset)
    plan = log.plan_thinning(keeping(()), below_offset=log.end_offset, bytes_min=ANY_SIZE)
    assert plan is not None
    assert second not in [segment for group in plan.groups for segment in group]


@pytest.mark.parametrize("is_known", [False, True])
def test_a_damaged_segment_is_left_alone(is_known: bool) -> None:
    disk = FakeDisk()
    log = queue_log(disk)
    damaged = log.segments[2]
    disk.flip_bit(damaged.path, 70)
    if is_known:
        assert log.quarantine(log.verification(damaged)())
    assert thin(log, ())
    assert damaged in log.segments
    assert [segment.size > 1000 for segment in log.segments[:4]] == [False, False, True, False]


def test_a_plan_is_void_when_something_is_wanted_again() -> None:
    disk = FakeDisk()
    log = queue_log(disk)
    plan = log.plan_thinning(keeping({3}), below_offset=60, bytes_min=ANY_SIZE)
    assert plan is not None
    result = plan.build()
    assert plan.holds(keeping({3}))
    assert plan.holds(keeping(()))
    assert not plan.holds(keeping({3, 4}))
    assert not plan.holds(lambda first, next_offset: [(0, 1000)])
    before = contents(log)
    log.discard(result)
    assert contents(log) == before
    assert [name for name in disk.list_names(PATH) if "cleaned" in name] == []
    assert thin(log, {3, 4})


def test_a_result_is_discarded_when_the_log_was_cut_meanwhile() -> None:
    log = queue_log(FakeDisk())
    plan = log.plan_thinning(keeping(()), below_offset=60, bytes_min=ANY_SIZE)
    assert plan is not None
    result = plan.build()
    log.truncate_to(3)
    for _ in range(57):
        append(log, batch_of(b"new"))
    log.roll()
    sync(log)
    before = contents(log)
    assert log.swap(result) == []
    assert contents(log) == before
    assert thin(log, ())


def test_a_plan_is_bounded_and_the_next_one_goes_on() -> None:
    log = queue_log(FakeDisk(), GROUPS_MAX * 2 + 3, replace(QUEUE, segment_bytes=100))
    found = []
    for _ in range(4):
        plan = log.plan_thinning(keeping(()), below_offset=log.end_offset, bytes_min=ANY_SIZE)
        assert plan is not None
        found.append([group[0].base_offset for group in plan.groups])
    assert [len(each) for each in found] == [GROUPS_MAX, GROUPS_MAX, 3, GROUPS_MAX]
    assert [base for each in found[:3] for base in each] == list(range(GROUPS_MAX * 2 + 3))


def test_many_small_segments_are_merged_in_several_plans() -> None:
    log = queue_log(FakeDisk(), SEGMENTS_MAX * 2 + 3, replace(QUEUE, segment_bytes=100))
    log.config = QUEUE
    for _ in range(10):
        thin(log, (), bytes_min=1000)
    assert len(log.segments) == 2


def test_a_read_in_a_gap_gives_the_next_record() -> None:
    log = queue_log(FakeDisk())
    thin(log, {0, 40})
    found = log.read(1, 1, 60)
    assert found is not None
    offset = found.next_offset
    while offset <= 40:
        found = log.read(offset, 1, 60)
        assert found is not None
        offset = found.next_offset
    batch = found.file.pread(found.length, found.position)
    assert [record.offset for record in iter_records(batch, decompressed_bytes_max=1000)] == [40]


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_crash_at_any_step_of_the_swap_loses_nothing(seed: int | None) -> None:
    wanted = {0, 1, 21, 44}
    before = rows(queue_log(FakeDisk()))
    after = [row for row in before if row[0] in wanted]
    outcomes = set()
    for steps in range(300):
        disk = FakeDisk()
        log = queue_log(disk)
        disk.cut_power_after(steps)
        finished = False
        with suppress(PowerCut):
            finished = thin(log, wanted)
        disk.crash(Random(seed * 1000 + steps) if seed else None)
        log = open_log(disk, QUEUE, recovery_point=60)
        found = rows(log)
        assert set(after) <= set(found) <= set(before)
        assert found == sorted(found)
        assert (log.end_offset, log.recovery.quarantined) == (60, ())
        assert not [name for name in disk.list_names(PATH) if name.endswith(("swap", "cleaned"))]
        thin(log, wanted)
        assert rows(log) == after
        outcomes.add(len(found))
        if finished:
            break
    assert finished
    assert len(outcomes) > 2


def test_the_files_of_one_old_message_take_little_room() -> None:
    disk = FakeDisk()
    log = open_log(disk, replace(QUEUE, segment_bytes=3 << 20))
    for _ in range(100):
        append(log, build_batch([Record(None, b"x" * 100_000)]))
    sync(log)
    files = len(log_files(disk))
    assert thin(log, {0}, bytes_min=THINNED_BYTES_MIN)
    sealed = log.segments[:-1]
    assert len(sealed) == files - 1
    assert sealed[0].size < 110_000
    assert all(segment.size == HEADER_BYTES for segment in sealed[1:])
    assert thin(log, {0}, bytes_min=THINNED_BYTES_MIN)
    assert len(log.segments) == 2


def test_kept_offsets_know_what_they_cover() -> None:
    kept = KeptOffsets()
    for first, next_offset in ((2, 4), (4, 6), (9, 10)):
        kept.append(first, next_offset)
    assert (len(kept), kept.count) == (2, 5)
    covered = [offset for offset in range(12) if kept.covers(offset, offset + 1)]
    assert covered == [2, 3, 4, 5, 9]
    for first in range(12):
        for next_offset in range(first + 1, 13):
            span = set(range(first, next_offset))
            assert kept.covers(first, next_offset) == (span <= set(covered))
            assert kept.meets(first, next_offset) == bool(span & set(covered))
