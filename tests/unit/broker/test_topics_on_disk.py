"""Topics that come and go, and what a power cut or a namesake may find on disk."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from itertools import count
from typing import TypeVar

import pytest
from tests.fakes.broker import start_broker
from tests.fakes.disk import FakeDisk
from tests.fakes.group_shell import SetClock

from duolog.adapters.sqlite import SqliteStore
from duolog.broker.broker import Broker
from duolog.broker.housekeeping import Housekeeping
from duolog.model.errors import PolicyViolation
from duolog.records.builder import build_batch
from duolog.records.record import Record

T = TypeVar("T")


class GatedDisk(FakeDisk):
    """Offloaded work waits, in order, while the gate is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.gate.set()
        self._turn = asyncio.Lock()

    async def offload(self, work: Callable[[], T], *, lengthy: bool = False) -> T:
        async with self._turn:
            await self.gate.wait()
            return work()


class Home:
    """A store and a disk that outlive the brokers started on them."""

    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.disk = GatedDisk()
        self.failures: list[OSError] = []
        self._ids = count(1)

    async def start(self, **more: int) -> Broker:
        return await start_broker(
            self.disk,
            self.store,
            new_id=lambda: uuid.UUID(int=next(self._ids)),
            on_storage_failure=self.failures.append,
            **more,
        )

    async def crash(self, broker: Broker) -> None:
        await broker.catalog.stop()
        self.disk.crash()


@pytest.fixture
async def home() -> AsyncIterator[Home]:
    store = await SqliteStore.open(":memory:", SetClock())
    yield Home(store)
    await store.close()


async def append(broker: Broker, topic: str, records: int = 1) -> None:
    for _ in range(records):
        await broker.partition(topic, 0).append(bytearray(build_batch([Record(b"k", b"v")])))


async def test_nothing_is_served_from_a_directory_that_a_power_cut_could_undo(home: Home) -> None:
    broker = await home.start()
    home.disk.gate.clear()
    creating = asyncio.create_task(broker.catalog.create_topic("t", 1, {}))
    await asyncio.sleep(0.05)
    assert ("t", 0) not in broker.routes
    home.disk.gate.set()
    await creating
    await append(broker, "t")
    await home.crash(broker)
    broker = await home.start()
    assert broker.partition("t", 0).log.end_offset == 1
    await broker.catalog.stop()


async def test_a_recovery_point_never_vouches_for_a_namesake(home: Home) -> None:
    broker = await home.start()
    await broker.catalog.create_topic("t", 1, {})
    await append(broker, "t", 5)
    await broker.storage.write_points(broker.partitions())
    await broker.catalog.delete_topic("t")
    await broker.catalog.create_topic("t", 1, {})
    await append(broker, "t", 2)
    await home.crash(broker)
    broker = await home.start()
    partition = broker.partition("t", 0)
    assert partition.log.end_offset == 2
    assert partition.log.recovery.scanned_bytes > 0
    await broker.catalog.stop()


async def test_a_snapshot_of_a_deleted_topic_never_reaches_its_namesake(home: Home) -> None:
    broker = await home.start()
    await broker.catalog.create_topic("t", 1, {})
    await append(broker, "t")
    write = broker.partition("t", 0).take_snapshot()
    assert write is not None
    home.disk.gate.clear()
    writing = asyncio.create_task(broker.disk.offload(write))
    deleting = asyncio.create_task(broker.catalog.delete_topic("t"))
    await asyncio.sleep(0.05)
    home.disk.gate.set()
    await writing
    await deleting
    await broker.catalog.create_topic("t", 1, {})
    assert not [name for name in home.disk.list_names("t-0") if name.endswith(".producers")]
    await broker.catalog.stop()


async def test_housekeeping_leaves_a_deleted_partition_alone(home: Home) -> None:
    broker = await home.start()
    for name in ("a", "b"):
        await broker.catalog.create_topic(name, 1, {"durability": "os"})
        await append(broker, name)
    checkpoint = asyncio.create_task(Housekeeping(broker).checkpoint())
    await broker.catalog.delete_topic("b")
    await checkpoint
    await append(broker, "a")
    assert home.failures == []
    await broker.catalog.stop()


async def test_an_unknown_partition_is_set_aside_and_not_deleted(home: Home) -> None:
    broker = await home.start()
    await broker.catalog.create_topic("t", 1, {})
    await broker.catalog.stop()
    home.disk.rename("t-0", "u-0")
    broker = await home.start()
    assert [name for name in home.disk.list_names("") if name.startswith("u-0.")]
    assert "u-0" not in home.disk.list_names("")
    await broker.catalog.stop()


async def test_more_partitions_than_the_node_can_hold_are_refused(home: Home) -> None:
    broker = await home.start(partitions_max=3)
    await broker.catalog.create_topic("t", 2, {})
    with pytest.raises(PolicyViolation):
        await broker.catalog.create_topic("u", 2, {})
    with pytest.raises(PolicyViolation):
        await broker.catalog.create_partitions("t", 4)
    await broker.catalog.create_partitions("t", 3)
    await broker.catalog.stop()
