"""What a group coordinator stands on, in memory: a clock that is set, a store that waits."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from itertools import count

from duolog.broker.groups.coordinator import GroupCoordinator
from duolog.broker.groups.offset_store import KeyValue, StoredRecord
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import StorageFailed

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


class MemoryOffsetStore:
    def __init__(self, partitions: int = 4) -> None:
        self.partitions = partitions
        self.appends: list[tuple[int, tuple[KeyValue, ...]]] = []
        """What is durable, append by append."""
        self.fails = False
        self._open = asyncio.Event()
        self._open.set()

    def hold(self) -> None:
        """Let appends wait until `release`."""
        self._open.clear()

    def release(self) -> None:
        self._open.set()

    async def load(self) -> AsyncIterator[StoredRecord]:
        for partition, records in list(self.appends):
            for key, value in records:
                yield StoredRecord(partition, key, value, 0)

    async def append(self, partition: int, records: Sequence[KeyValue]) -> None:
        await self._open.wait()
        if self.fails:
            raise StorageFailed("the disk is broken")
        self.appends.append((partition, tuple(records)))


def numbered_ids() -> Callable[[], uuid.UUID]:
    numbers = count(1)
    return lambda: uuid.UUID(int=next(numbers))


def new_coordinator(
    store: MemoryOffsetStore, clock: SetClock, settings: GroupSettings | None = None
) -> GroupCoordinator:
    return GroupCoordinator(clock, store, settings or GroupSettings(), new_id=numbered_ids())


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
