"""A partition: what is acknowledged when, what readers see, what is refused."""

import asyncio
import errno

import pytest
from tests.unit.broker.workbench import NOW_MS, Workbench, a_batch

from duolog.broker.partition import REFUSED_MS, RETRY_AFTER_MS
from duolog.model.errors import (
    FencedLeaderEpoch,
    InvalidRecord,
    InvalidTimestamp,
    OffsetOutOfRange,
    OutOfOrderSequence,
    StorageFailed,
    TransactionsUnsupported,
    UnknownLeaderEpoch,
)
from duolog.records.header import read_header


@pytest.fixture(autouse=True, params=["gathered", "alone"])
def manner(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways into the log promise the same."""
    monkeypatch.setattr(Workbench, "is_only_node", request.param == "alone")


class Listener:
    def __init__(self) -> None:
        self.calls = 0

    def advanced(self) -> None:
        self.calls += 1


def test_nothing_is_acknowledged_or_read_before_it_is_synced() -> None:
    bench = Workbench()
    _, outcome = bench.produce()
    assert not outcome.settled
    assert bench.partition.read(0, 1 << 20) is None
    bench.disk.finish_sync()
    assert outcome.settled
    assert outcome.failure is None
    assert bench.partition.high_watermark == 1
    piece = bench.partition.read(0, 1 << 20)
    assert piece is not None
    assert piece.next_offset == 1


def test_what_arrives_during_a_sync_waits_for_the_next_one() -> None:
    bench = Workbench()
    _, first = bench.produce()
    _, second = bench.produce()
    bench.disk.finish_sync()
    assert first.settled
    assert not second.settled
    bench.disk.finish_sync()
    assert second.settled


def test_one_sync_covers_everything_that_was_written_meanwhile() -> None:
    bench = Workbench()
    bench.produce()
    outcomes = [bench.produce()[1] for _ in range(10)]
    bench.disk.finish_sync()
    assert len(bench.disk.syncs) == 1
    bench.disk.finish_sync()
    assert all(outcome.settled for outcome in outcomes)
    assert bench.disk.syncs == []


@pytest.mark.parametrize("durability", ["os", "replicated"])
def test_without_fsync_a_write_is_enough(durability: str) -> None:
    bench = Workbench(durability=durability)
    _, outcome = bench.produce()
    assert outcome.settled
    assert bench.disk.syncs == []


def test_a_failed_sync_is_reported_and_never_tried_again() -> None:
    bench = Workbench()
    bench.produce()
    bench.disk.finish_sync(OSError(errno.EIO, "broken"))
    assert [failure.errno for failure in bench.failures] == [errno.EIO]
    bench.produce()
    assert bench.disk.syncs == []


def test_fencing_tells_who_waits_and_refuses_what_comes() -> None:
    bench = Workbench()
    _, outcome = bench.produce()
    failure = StorageFailed("broken")
    bench.partition.fence(failure)
    assert outcome.failure is failure
    with pytest.raises(StorageFailed):
        bench.produce()


def test_a_duplicate_gets_its_first_offset_and_waits_for_the_same_sync() -> None:
    bench = Workbench()
    batch = a_batch([b"a", b"b"], producer_id=9, sequence=0)
    first, _ = bench.produce(batch)
    again, outcome = bench.produce(batch)
    assert again == first
    assert bench.partition.log.end_offset == 2
    assert not outcome.settled
    while bench.disk.syncs:
        bench.disk.finish_sync()
    assert outcome.settled


def test_producers_are_recognised_after_a_restart_without_a_snapshot() -> None:
    bench = Workbench()
    batch = a_batch(producer_id=9, sequence=0)
    bench.produce(batch)
    bench.disk.finish_sync()
    bench.open()
    assert bench.produce(batch)[0] == 0
    assert bench.partition.log.end_offset == 1
    with pytest.raises(OutOfOrderSequence):
        bench.produce(a_batch(producer_id=9, sequence=5))


def test_producers_are_recognised_from_a_snapshot_and_what_follows_it() -> None:
    bench = Workbench()
    early, late = (a_batch(producer_id=9, sequence=n) for n in range(2))
    bench.produce(early)
    bench.disk.finish_sync()
    write = bench.partition.take_snapshot()
    assert write is not None
    write()
    bench.produce(late)
    bench.disk.finish_sync()
    bench.open()
    assert bench.produce(early)[0] == 0
    assert bench.produce(late)[0] == 1
    assert bench.partition.log.end_offset == 2


def test_no_snapshot_is_taken_of_what_a_crash_could_take_back() -> None:
    bench = Workbench()
    bench.produce()
    assert bench.partition.take_snapshot() is None


def test_a_full_disk_refuses_the_batch_and_forgets_its_producer() -> None:
    bench = Workbench()
    bench.produce()
    bench.disk.finish_sync()
    batch = a_batch(producer_id=9, sequence=0)
    bench.disk.fail("write", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        bench.produce(batch)
    bench.disk.clear_faults()
    assert bench.partition.log.end_offset == 1
    assert bench.produce(batch, at_ms=NOW_MS + RETRY_AFTER_MS)[0] == 1


def test_batches_behind_one_that_was_refused_are_refused_alike_and_stored_in_order() -> None:
    bench = Workbench()
    first, second, third = (a_batch(producer_id=9, sequence=n) for n in range(3))
    bench.produce(first)
    bench.disk.finish_sync()
    bench.disk.fail("write", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        bench.produce(second)
    bench.disk.clear_faults()
    retry_ms = NOW_MS + RETRY_AFTER_MS
    with pytest.raises(StorageFailed):
        bench.produce(third, at_ms=retry_ms)
    assert bench.produce(second, at_ms=retry_ms)[0] == 1
    assert bench.produce(third, at_ms=retry_ms)[0] == 2


def test_a_batch_out_of_order_is_said_to_be_once_nothing_was_refused_for_long() -> None:
    bench = Workbench()
    bench.produce(a_batch(producer_id=9, sequence=0))
    bench.disk.finish_sync()
    bench.disk.fail("write", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        bench.produce(a_batch(producer_id=9, sequence=1))
    bench.disk.clear_faults()
    with pytest.raises(OutOfOrderSequence):
        bench.produce(a_batch(producer_id=9, sequence=2), at_ms=NOW_MS + REFUSED_MS + 1)


def test_after_a_failed_write_the_disk_is_left_alone_for_a_moment() -> None:
    bench = Workbench()
    bench.disk.fail("write", errno.ENOSPC)
    with pytest.raises(StorageFailed):
        bench.produce()
    with pytest.raises(StorageFailed):
        bench.produce(at_ms=NOW_MS + RETRY_AFTER_MS - 1)
    assert bench.produce(at_ms=NOW_MS + RETRY_AFTER_MS)[0] == 0


def test_a_partition_that_is_never_idle_still_gets_its_snapshot() -> None:
    bench = Workbench()
    bench.produce(a_batch(producer_id=9, sequence=0))
    assert bench.partition.take_snapshot() is None
    bench.produce(a_batch(producer_id=9, sequence=1))
    bench.disk.finish_sync()
    write = bench.partition.take_snapshot()
    assert write is not None
    write()
    assert bench.partition.log.durable_offset < bench.partition.log.end_offset
    found = bench.partition.log.latest_snapshot("producers", 1)
    assert found is not None
    assert found[0] == 1


def test_a_sync_that_cannot_begin_ends_the_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Workbench()

    def refuse(path: str) -> None:
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(bench.disk, "directory", refuse)
    bench.produce()
    assert [failure.errno for failure in bench.failures] == [errno.EMFILE]


def test_readers_are_told_when_there_is_more() -> None:
    bench = Workbench()
    reader = Listener()
    bench.partition.add_reader(reader)
    bench.produce()
    assert reader.calls == 0
    bench.disk.finish_sync()
    assert reader.calls == 1
    bench.partition.remove_reader(reader)
    bench.produce()
    bench.disk.finish_sync()
    assert reader.calls == 1


def test_reading_past_the_end_is_out_of_range() -> None:
    bench = Workbench()
    with pytest.raises(OffsetOutOfRange):
        bench.partition.read(1, 1 << 20)


def test_a_compacted_topic_refuses_records_without_a_key() -> None:
    bench = Workbench(cleanup_policy="compact")
    with pytest.raises(InvalidRecord):
        bench.produce(a_batch(key=None))


def test_transactional_batches_are_refused() -> None:
    bench = Workbench()
    with pytest.raises(TransactionsUnsupported):
        bench.produce(a_batch(producer_id=1, sequence=0, transactional=True))


def test_timestamps_far_ahead_are_refused() -> None:
    bench = Workbench()
    with pytest.raises(InvalidTimestamp):
        bench.produce(a_batch(timestamp=NOW_MS + 3_600_001))
    bench.produce(a_batch(timestamp=NOW_MS + 3_600_000))


def test_timestamps_long_past_are_refused_where_the_topic_says_so() -> None:
    bench = Workbench(message_timestamp_before_max_ms="1000")
    with pytest.raises(InvalidTimestamp):
        bench.produce(a_batch(timestamp=NOW_MS - 1001))
    bench.produce(a_batch(timestamp=NOW_MS - 1000))


def test_append_time_replaces_the_producers_timestamps() -> None:
    bench = Workbench(message_timestamp_type="LogAppendTime", durability="os")
    bench.produce(a_batch(timestamp=5))
    piece = bench.partition.read(0, 1 << 20)
    assert piece is not None
    header = read_header(piece.file.pread(piece.length, piece.position))
    assert header.max_timestamp == NOW_MS
    assert header.uses_log_append_time


def test_epochs_other_than_the_leaders_are_refused() -> None:
    partition = Workbench().partition
    partition.check_epoch(-1)
    partition.check_epoch(3)
    with pytest.raises(FencedLeaderEpoch):
        partition.check_epoch(2)
    with pytest.raises(UnknownLeaderEpoch):
        partition.check_epoch(4)


def test_of_a_partition_with_one_replica_no_more_are_asked_for() -> None:
    Workbench(min_insync_replicas="2").partition.check_in_sync()


async def test_our_own_appends_return_when_they_are_durable() -> None:
    bench = Workbench(durability="os")
    assert await bench.partition.append(bytearray(a_batch())) == 0
    assert await bench.partition.append(bytearray(a_batch())) == 1


async def test_draining_waits_for_what_was_requested_before_and_not_for_more() -> None:
    bench = Workbench()
    bench.produce()
    bench.produce()
    draining = asyncio.ensure_future(bench.flusher.drain())
    await asyncio.sleep(0)
    bench.disk.finish_sync()
    await asyncio.sleep(0)
    assert not draining.done(), "the second batch came while the first was synced"
    bench.produce()
    bench.disk.finish_sync()
    await asyncio.wait_for(draining, 10)
    assert bench.disk.syncs, "the third is not waited for"


async def test_draining_does_not_wait_for_what_is_gone() -> None:
    bench = Workbench()
    bench.produce()
    bench.produce()
    draining = asyncio.ensure_future(bench.flusher.drain())
    await asyncio.sleep(0)
    bench.flusher.forget(bench.partition)
    bench.disk.finish_sync()
    await asyncio.wait_for(draining, 10)
