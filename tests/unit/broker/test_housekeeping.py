"""The duties beside serving: who is idle costs nothing, who is thinned loses nothing."""

import errno
from collections.abc import AsyncIterator, Callable, Iterable
from typing import TypeVar

import pytest
from tests.fakes.broker import start_broker
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.adapters.sqlite import SqliteStore
from duolog.broker import storage
from duolog.broker.broker import Broker
from duolog.broker.housekeeping import Housekeeping, Thinnable
from duolog.broker.partition import Partition
from duolog.broker.replica import SNAPSHOT_AFTER_BATCHES
from duolog.log.checkpoint import (
    RECENT_POINTS_FILE,
    RECOVERY_POINTS_FILE,
    read_checkpoint,
)
from duolog.model.errors import StorageFailed
from duolog.records.builder import build_batch
from duolog.records.iterator import iter_records
from duolog.records.record import Record

T = TypeVar("T")


class InterruptedDisk(FakeDisk):
    """Something happens once while lengthy work is done elsewhere."""

    meanwhile: Callable[[], object] = staticmethod(lambda: None)

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        result = work()
        if lengthy:
            self.meanwhile()
        return result


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(":memory:", SetClock())
    yield opened
    await opened.close()


@pytest.fixture
def disk() -> InterruptedDisk:
    return InterruptedDisk()


@pytest.fixture
async def broker(disk: InterruptedDisk, store: SqliteStore) -> AsyncIterator[Broker]:
    started = await start_broker(disk, store)
    yield started
    await started.catalog.stop()


async def append(partition: Partition, size: int = 1, **more: int) -> None:
    await partition.append(build_batch([Record(b"k", b"x" * size)], **more))


async def topics(broker: Broker, count: int, durability: str = "fsync") -> list[Partition]:
    for number in range(count):
        await broker.catalog.create_topic(f"t{number}", 1, {"durability": durability})
    return [broker.partition(f"t{number}", 0) for number in range(count)]


async def test_only_partitions_that_have_changed_are_written_down(
    broker: Broker, disk: InterruptedDisk
) -> None:
    duties = Housekeeping(broker)
    partitions = await topics(broker, 5)
    await duties.checkpoint()
    await broker.storage.write_points(broker.partitions())
    assert all(each.log.is_settled for each in partitions)
    before = disk.content(RECOVERY_POINTS_FILE)
    await append(partitions[3])
    assert not partitions[3].log.is_settled
    await duties.checkpoint()
    points, recent = read_checkpoint(disk)
    assert recent == {(str(partitions[3].topic.id), 0): 1}
    assert len(points) == 5
    assert disk.content(RECOVERY_POINTS_FILE) == before
    assert all(each.log.is_settled for each in partitions)


async def test_recent_points_are_believed_at_the_next_start(
    broker: Broker, disk: InterruptedDisk, store: SqliteStore
) -> None:
    partitions = await topics(broker, 3)
    duties = Housekeeping(broker)
    await broker.storage.write_points(broker.partitions())
    for partition in partitions[:2]:
        await append(partition)
        await duties.checkpoint()
    await broker.catalog.stop()
    disk.crash()
    again = await start_broker(disk, store)
    assert [each.log.recovery.scanned_bytes for each in again.partitions()] == [0, 0, 0]
    assert [each.log.durable_offset for each in again.partitions()] == [1, 1, 0]
    assert read_checkpoint(disk)[1] == {}
    await again.catalog.stop()


async def test_when_many_have_changed_all_points_are_written(
    broker: Broker, disk: InterruptedDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "RECENT_POINTS_MIN", 2)
    duties = Housekeeping(broker)
    partitions = await topics(broker, 4)
    recent_counts = []
    for partition in partitions:
        await append(partition)
        await duties.checkpoint()
        points, recent = read_checkpoint(disk)
        assert points[str(partition.topic.id), 0] == 1
        recent_counts.append(len(recent))
    assert 0 in recent_counts
    assert max(recent_counts) <= 2


async def test_points_of_a_deleted_topic_are_forgotten(
    broker: Broker, disk: InterruptedDisk
) -> None:
    duties = Housekeeping(broker)
    for partition in await topics(broker, 2):
        await append(partition)
    await duties.checkpoint()
    await broker.catalog.delete_topic("t0")
    await append(broker.partition("t1", 0))
    await duties.checkpoint()
    assert list(read_checkpoint(disk)[0].values()) == [2]


async def test_a_partition_is_visited_until_it_is_durable_and_its_snapshot_written(
    broker: Broker,
) -> None:
    duties = Housekeeping(broker)
    (partition,) = await topics(broker, 1, durability="os")
    for sequence in range(SNAPSHOT_AFTER_BATCHES):
        await append(partition, producer_id=1, producer_epoch=0, base_sequence=sequence)
    for _ in range(3):
        await duties.checkpoint()
    assert partition.log.is_settled
    assert partition.log.durable_offset == SNAPSHOT_AFTER_BATCHES
    found = partition.log.latest_snapshot("producers", SNAPSHOT_AFTER_BATCHES)
    assert found is not None
    assert found[0] == SNAPSHOT_AFTER_BATCHES


async def test_points_that_could_not_be_written_are_tried_again(
    broker: Broker, disk: InterruptedDisk
) -> None:
    duties = Housekeeping(broker)
    (partition,) = await topics(broker, 1)
    await append(partition)
    disk.fail("write", path_part=RECENT_POINTS_FILE)
    with pytest.raises(OSError):
        await duties.checkpoint()
    await duties.checkpoint()
    assert list(read_checkpoint(disk)[0].values()) == [1]


async def test_an_idle_segment_past_its_age_is_sealed_by_retention(broker: Broker) -> None:
    await broker.catalog.create_topic("t", 1, {"segment.ms": "1000", "retention.ms": "-1"})
    partition = broker.partition("t", 0)
    await append(partition)
    await Housekeeping(broker).expire()
    assert len(partition.log.segments) == 1
    assert isinstance(broker.clock, SetClock)
    broker.clock.at_ms += 1001
    await Housekeeping(broker).expire()
    assert len(partition.log.segments) == 2


async def test_many_idle_partitions_need_no_descriptors(
    broker: Broker, disk: InterruptedDisk
) -> None:
    duties = Housekeeping(broker)
    (partition,) = await topics(broker, 1)
    await append(partition)
    for _ in range(2):
        await duties.checkpoint()
    await duties.expire()
    disk.fail("open", errno.EMFILE, path_part=".log")
    with pytest.raises(StorageFailed):
        partition.read(0, 1000)
    assert partition.read(0, 1000) is not None
    await append(partition)


MESSAGES = 60


async def long_queue(broker: Broker) -> Partition:
    await broker.catalog.create_topic("q", 1, {"segment.bytes": str(2 << 20)})
    partition = broker.partition("q", 0)
    for _ in range(MESSAGES):
        await append(partition, 100_000)
    return partition


def offsets(partition: Partition) -> list[int]:
    found = []
    log = partition.log
    for batch in log.batches(log.start_offset, 1 << 30):
        found += [
            record.offset or 0 for record in iter_records(batch, decompressed_bytes_max=1 << 20)
        ]
    return found


class Keeper:
    """Who wants only some messages of a partition."""

    def __init__(self, partition: Partition, wanted: Iterable[int]) -> None:
        self._partition = partition
        self.wanted = set(wanted)

    def thinnable(self) -> Iterable[Thinnable]:
        yield self._partition, self._kept_ranges, MESSAGES

    def _kept_ranges(self, first: int, next_offset: int) -> Iterable[tuple[int, int]]:
        return ((each, each + 1) for each in sorted(self.wanted))


async def test_one_old_message_does_not_hold_everything_behind_it(broker: Broker) -> None:
    partition = await long_queue(broker)
    duties = Housekeeping(broker)
    await duties.thin()
    assert offsets(partition) == list(range(MESSAGES))
    duties.thinning = Keeper(partition, {0}).thinnable
    sealed_end = partition.log.segments[-2].end_offset
    await duties.thin()
    assert offsets(partition) == [0, *range(sealed_end, MESSAGES)]
    await duties.thin()
    assert len(partition.log.segments) == 2
    await append(partition)
    assert partition.log.end_offset == MESSAGES + 1


async def test_a_message_that_is_wanted_again_meanwhile_is_not_lost(
    broker: Broker, disk: InterruptedDisk
) -> None:
    partition = await long_queue(broker)
    keeper = Keeper(partition, {0})
    duties = Housekeeping(broker)
    duties.thinning = keeper.thinnable
    disk.meanwhile = lambda: keeper.wanted.add(1)
    await duties.thin()
    assert offsets(partition) == list(range(MESSAGES))
    assert not [name for name in disk.list_names("q-0") if "cleaned" in name]
    await duties.thin()
    assert offsets(partition)[:2] == [0, 1]
    assert len(offsets(partition)) < MESSAGES


async def test_a_partition_that_is_deleted_meanwhile_is_left_alone(
    broker: Broker, disk: InterruptedDisk
) -> None:
    partition = await long_queue(broker)
    duties = Housekeeping(broker)
    duties.thinning = Keeper(partition, {0}).thinnable
    await broker.catalog.delete_topic("q")
    await duties.thin()
    assert disk.list_names("q-0") == []
