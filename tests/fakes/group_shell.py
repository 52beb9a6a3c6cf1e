"""What a group coordinator stands on, in memory: a clock that is set, a store that waits."""

import asyncio
import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import count

from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import KeyValue, Tenure
from duolog.broker.groups.prefix import StoredPartition
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import NotLeader, StorageFailed
from duolog.records.builder import build_batch
from duolog.records.record import Record

WALL_MS = 1_700_000_000_000


class SetClock:
    def __init__(self) -> None:
        self.at_ms = 0

    def now_ms(self) -> int:
        return WALL_MS + self.at_ms

    def monotonic_ms(self) -> int:
        return self.at_ms

    def monotonic_ns(self) -> int:
        return self.at_ms * 1_000_000

    def thread_ns(self) -> int:
        return 0

    def worked(self, steps: int) -> None:
        pass


class MemoryOffsetStore:
    node_id = 1

    def __init__(self, partitions: int = 4) -> None:
        self.partitions = partitions
        self.exists = True
        self.is_replicated = False
        self.epochs: dict[int, int] = {}
        """Of the partitions' leaders, where it is not the first."""
        self.appends: list[tuple[int, tuple[KeyValue, ...]]] = []
        """What is durable, append by append."""
        self.fails = False
        self.loses_answers = False
        self.is_substitute = False
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        """Let appends wait until `release`."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    def leads(self, tenure: Tenure) -> bool:
        return self.epochs.get(tenure.partition, 0) == tenure.epoch

    async def create(self) -> None:
        self.exists = True

    async def until_readable(self, tenure: Tenure) -> int:
        await self._open.wait()
        self._check(tenure)
        return self.stored(tenure.partition).end_offset

    def leads_for_another(self, partition: int) -> bool:
        return self.is_substitute

    def stored(self, partition: int) -> "MemoryPartition":
        return MemoryPartition(self, partition)

    def held(self) -> list[StoredPartition]:
        return []

    async def append(self, tenure: Tenure, records: Sequence[KeyValue]) -> None:
        self._check(tenure)
        await self._open.wait()
        self._check(tenure)
        if self.fails:
            raise StorageFailed("the disk is broken")
        self.appends.append((tenure.partition, tuple(records)))
        if self.loses_answers:
            raise NotLeader("whether it is there is not known")

    def _check(self, tenure: Tenure) -> None:
        if not self.leads(tenure):
            raise NotLeader("another epoch has begun")


class MemoryPartition:
    """What is durable of one partition, as batches. Offsets count the records."""

    decompressed_bytes_max = 1 << 20
    start_offset = 0
    is_in_sync = True

    def __init__(self, store: MemoryOffsetStore, index: int) -> None:
        self._store = store
        self.index = index

    @property
    def identity(self) -> object:
        return self._store

    @property
    def end_offset(self) -> int:
        return sum(len(records) for index, records in self._store.appends if index == self.index)

    settled_offset = end_offset

    def epoch_before(self, offset: int) -> int:
        return 0 if offset else -1

    def version(self) -> object:
        return None

    def is_version(self, version: object) -> bool:
        return True

    def batches(self, offset: int, bytes_max: int) -> Iterator[memoryview]:
        base_offset = 0
        for index, records in self._store.appends:
            if index == self.index:
                if base_offset >= offset:
                    found = [Record(key, value) for key, value in records]
                    batch = build_batch(found, base_offset=base_offset, leader_epoch=0)
                    yield memoryview(batch)
                base_offset += len(records)

    def past_damage(self, offset: int) -> int:
        raise AssertionError("memory is not damaged")

    async def snapshot(self, at_most: int) -> tuple[int, bytes] | None:
        return None

    async def write_snapshot(self, offset: int, data: bytes) -> None:
        raise AssertionError("nobody reads ahead")


def numbered_ids() -> Callable[[], uuid.UUID]:
    numbers = count(1)
    return lambda: uuid.UUID(int=next(numbers))


def new_coordinator(
    store: MemoryOffsetStore, clock: SetClock, settings: GroupSettings | None = None
) -> GroupCoordinator:
    """One that leads every partition of the store."""
    coordinator = GroupCoordinator(clock, store, settings or GroupSettings(), new_id=numbered_ids())
    for partition in range(store.partitions):
        coordinator.begin(Tenure(partition, store.epochs.get(partition, 0)))
    return coordinator


async def pass_ms(coordinator: GroupCoordinator, clock: SetClock, duration_ms: int) -> None:
    """Let time go by in steps, as a timer would find it."""
    for _ in range(10):
        clock.at_ms += duration_ms // 10
        coordinator.tick()
        await asyncio.sleep(0)
    await settle()


async def settle() -> None:
    """Let everything that can go on do so."""
    for _ in range(20):
        await asyncio.sleep(0)
