"""Every MetaStore passes the same tests. A new one is a Harness and a line in HARNESSES."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Protocol

import pytest

from duolog.adapters.sqlite import SqliteStore
from duolog.ports.metastore import MetaStore, Put

HISTORY_REVISIONS = 50
"""What the stores under test keep, so that compaction can be reached."""


class Harness(Protocol):
    async def open(self) -> MetaStore:
        """A client of the one store of this test; after a `close`, the store started again."""
        ...

    async def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, for leases."""
        ...

    async def compact(self, store: MetaStore) -> None:
        """Make the store forget the history before its present revision."""
        ...


class ManualClock:
    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms


class SqliteHarness:
    def __init__(self, directory: Path) -> None:
        self._path = str(directory / "metadata.sqlite")
        self._clock = ManualClock()

    async def open(self) -> MetaStore:
        return await SqliteStore.open(
            self._path, self._clock, history_revisions_max=HISTORY_REVISIONS
        )

    async def pass_ms(self, duration_ms: int) -> None:
        self._clock.ms += duration_ms

    async def compact(self, store: MetaStore) -> None:
        for _ in range(HISTORY_REVISIONS):
            await store.transact([], [Put("elsewhere", b"")])


HARNESSES: dict[str, Callable[[Path], Harness]] = {"sqlite": SqliteHarness}

StoreFactory = Callable[[], Awaitable[MetaStore]]


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Harness:
    return HARNESSES[request.param](tmp_path)


@pytest.fixture
async def store_factory(harness: Harness) -> AsyncIterator[StoreFactory]:
    opened: list[MetaStore] = []

    async def factory() -> MetaStore:
        opened.append(await harness.open())
        return opened[-1]

    yield factory
    for store in opened:
        await store.close()


@pytest.fixture
async def store(store_factory: StoreFactory) -> MetaStore:
    return await store_factory()
