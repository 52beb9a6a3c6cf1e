"""The reserve: who may write on a full disk, in which order, and when the gate opens again."""

import asyncio
import errno
from collections.abc import AsyncIterator

import pytest
from tests.fakes.broker import start_broker
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.broker.partition import Partition
from duolog.broker.reserve import LOW_SHARE, RESERVE_FILE, Reserve
from duolog.config.settings import Settings
from duolog.model.errors import DiskFull
from duolog.model.names import OFFSETS_TOPIC, queue_state_topic
from duolog.records.builder import build_batch
from duolog.records.record import Record

MIB = 1 << 20
SIZE = 2 * MIB
NOW_MS = 1_700_000_000_000


class Watcher:
    """Notes, at each change, whether the gate was closed and the file still there."""

    def __init__(self, disk: FakeDisk, reserve: Reserve) -> None:
        self._disk = disk
        self._reserve = reserve
        self.seen: list[tuple[bool, bool]] = []

    def look(self) -> None:
        self.seen.append((self._reserve.is_full, self._disk.exists(RESERVE_FILE)))


def reserve_on(disk: FakeDisk) -> tuple[Reserve, Watcher]:
    reserve = Reserve(disk, SIZE)
    watcher = Watcher(disk, reserve)
    reserve.on_change.append(watcher.look)
    return reserve, watcher


@pytest.fixture
def disk() -> FakeDisk:
    disk = FakeDisk()
    disk.capacity_bytes = 10 * MIB
    return disk


def fill(disk: FakeDisk, room_bytes: int = 0, name: str = "ballast") -> None:
    disk.preallocate(name, disk.free_bytes() - room_bytes)


async def test_the_gate_is_closed_before_the_reserve_is_freed(disk: FakeDisk) -> None:
    reserve, watcher = reserve_on(disk)
    await reserve.begin()
    fill(disk)
    assert reserve.free()
    assert watcher.seen == [(True, True)]
    assert disk.free_bytes() == SIZE


async def test_what_has_passed_the_gate_already_cannot_take_the_reserve(disk: FakeDisk) -> None:
    reserve, _ = reserve_on(disk)
    await reserve.begin()
    fill(disk)
    reserve.close()
    assert reserve.is_full
    assert disk.free_bytes() == 0
    await asyncio.sleep(0)
    assert disk.free_bytes() == SIZE


async def test_the_gate_opens_when_the_reserve_is_back_and_as_much_again_is_free(
    disk: FakeDisk,
) -> None:
    reserve, watcher = reserve_on(disk)
    await reserve.begin()
    fill(disk, name="small")
    disk.remove(RESERVE_FILE)
    disk.preallocate(RESERVE_FILE, SIZE)
    reserve.free()
    disk.remove("small")
    fill(disk, 2 * SIZE - 1)
    await reserve.look()
    assert reserve.is_full
    assert not disk.exists(RESERVE_FILE)
    disk.remove("ballast")
    fill(disk, 2 * SIZE)
    await reserve.look()
    assert not reserve.is_full
    assert disk.free_bytes() == SIZE
    assert watcher.seen == [(True, True), (False, True)]


async def test_a_used_up_reserve_is_said_once(disk: FakeDisk) -> None:
    reserve, watcher = reserve_on(disk)
    await reserve.begin()
    fill(disk)
    reserve.free()
    fill(disk, name="journals")
    assert not reserve.free()
    assert not reserve.free()
    assert reserve.is_used_up
    assert len(watcher.seen) == 2
    assert "used up" in reserve.trouble


async def test_the_gate_closes_before_the_last_byte_is_gone(disk: FakeDisk) -> None:
    reserve, _ = reserve_on(disk)
    await reserve.begin()
    fill(disk, SIZE // LOW_SHARE - 1)
    await reserve.look()
    assert reserve.is_full


async def test_room_below_twice_the_reserve_takes_messages_until_it_is_gone(
    disk: FakeDisk,
) -> None:
    first, _ = reserve_on(disk)
    await first.begin()
    fill(disk, SIZE // 2)
    restarted, _ = reserve_on(disk)
    await restarted.begin()
    assert not restarted.is_full


@pytest.mark.parametrize("room_bytes", [0, SIZE, 2 * SIZE - 1])
async def test_a_node_that_finds_no_room_for_its_reserve_begins_with_a_closed_gate(
    disk: FakeDisk, room_bytes: int
) -> None:
    fill(disk, room_bytes)
    reserve, _ = reserve_on(disk)
    await reserve.begin()
    assert reserve.is_full
    assert disk.free_bytes() == room_bytes


# With a broker.


@pytest.fixture
async def store() -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(":memory:", SetClock())
    yield store
    await store.close()


@pytest.fixture
async def broker(disk: FakeDisk, store: SqliteStore) -> AsyncIterator[Broker]:
    settings = Settings.load({"log.reserve.bytes": str(SIZE)})
    started = await start_broker(disk, store, settings=settings)
    yield started
    await started.groups.stop()
    await started.stop()


def batch(size: int = 100) -> bytearray:
    return bytearray(build_batch([Record(None, bytes(size), timestamp=NOW_MS)]))


async def made(broker: Broker, name: str) -> Partition:
    await broker.catalog.create_topic(name, 1, {})
    return broker.partition(name, 0)


@pytest.mark.parametrize("name", [OFFSETS_TOPIC, queue_state_topic("orders")])
async def test_a_journal_that_meets_the_full_disk_is_written_at_once_in_the_reserve(
    broker: Broker, disk: FakeDisk, name: str
) -> None:
    data, journal = await made(broker, "orders"), await made(broker, name)
    fill(disk)
    assert await journal.append(batch()) == 0
    with pytest.raises(DiskFull):
        await data.append(batch())
    assert data.log.end_offset == 0


async def test_a_full_disk_refuses_all_data_at_once_and_takes_it_again_by_itself(
    broker: Broker, disk: FakeDisk
) -> None:
    first, second = await made(broker, "first"), await made(broker, "second")
    await second.append(batch())
    fill(disk)
    with pytest.raises(DiskFull):
        await first.append(batch())
    await asyncio.sleep(0)
    assert disk.free_bytes() > 0
    with pytest.raises(DiskFull):
        await second.append(batch())
    assert second.read(0, 1) is not None
    disk.remove("ballast")
    await broker.reserve.look()
    assert await first.append(batch()) == 0
    assert await second.append(batch()) == 1


async def test_a_batch_that_passed_the_gate_before_it_closed_is_refused_like_the_others(
    broker: Broker, disk: FakeDisk
) -> None:
    first, second = await made(broker, "first"), await made(broker, "second")
    for partition in (first, second):
        partition.stage(memoryview(batch()), NOW_MS)
    fill(disk)
    for partition in (first, second):
        with pytest.raises(DiskFull):
            partition.write_staged(NOW_MS)
    assert disk.free_bytes() == 0


async def test_copies_of_messages_are_refused_and_those_of_journals_are_not(
    broker: Broker, disk: FakeDisk
) -> None:
    data, journal = await made(broker, "orders"), await made(broker, queue_state_topic("orders"))
    fill(disk)
    broker.reserve.free()
    for partition in (data, journal):
        partition.leader_epoch = 1
    with pytest.raises(DiskFull):
        data.append_copied(memoryview(batch()), 0, 1)
    journal.append_copied(memoryview(batch()), 0, 1)
    assert (data.log.end_offset, journal.log.end_offset) == (0, 1)


async def test_a_full_disk_takes_no_new_topic_but_a_journal(broker: Broker, disk: FakeDisk) -> None:
    await made(broker, "orders")
    fill(disk)
    broker.reserve.free()
    with pytest.raises(DiskFull):
        await broker.catalog.create_topic("more", 1, {})
    await made(broker, queue_state_topic("orders"))


async def test_records_can_be_deleted_on_a_full_disk(broker: Broker, disk: FakeDisk) -> None:
    data = await made(broker, "orders")
    await data.append(batch())
    fill(disk)
    data.advance_start(1)
    assert data.log.start_offset == 1


async def test_a_topic_that_comes_while_the_disk_is_full_takes_nothing_either(
    broker: Broker, disk: FakeDisk
) -> None:
    broker.reserve.free()
    broker.catalog.check_room = lambda topic, partitions: None
    data = await made(broker, "orders")
    with pytest.raises(DiskFull):
        await data.append(batch())


async def test_a_partition_that_finds_no_room_is_opened_in_the_reserve(
    broker: Broker, disk: FakeDisk
) -> None:
    disk.fail("open", errno.ENOSPC, path_part="orders-0")
    data = await made(broker, "orders")
    assert broker.reserve.is_full
    with pytest.raises(DiskFull):
        await data.append(batch())


async def test_a_rewrite_under_way_ends_when_the_disk_is_full_and_leaves_nothing(
    broker: Broker, disk: FakeDisk
) -> None:
    overrides = {"cleanup.policy": "compact", "segment.bytes": "16384", "max.compaction.lag.ms": "1"}
    await broker.catalog.create_topic("keyed", 1, overrides)
    keyed = broker.partition("keyed", 0)
    for number in range(20):
        record = Record(b"%d" % (number % 2), bytes(9_000), timestamp=NOW_MS)
        await keyed.append(bytearray(build_batch([record])))
    plan = keyed.log.plan_compaction(
        NOW_MS, keyed.high_watermark, may_write=lambda: not broker.reserve.is_full
    )
    assert plan is not None
    broker.reserve.free()
    with pytest.raises(OSError):
        plan.build()
    assert not [name for name in disk.list_names("keyed-0") if "cleaned" in name]
