"""Every MetaStore passes the same tests. A new one is a Harness and a line in HARNESSES."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from tests.harness import etcd
from tests.harness.etcd import Etcd
from tests.sim.store_harness import SimHarness

from duolog.adapters.etcd.store import EtcdStore
from duolog.adapters.sqlite import SqliteStore
from duolog.ports.metastore import LeaseId, MetaStore, Put

HISTORY_REVISIONS = 50
"""What the stores under test keep, so that compaction can be reached."""

EXPIRY_LATE_S_MAX = 20
"""How late an etcd on a busy machine may end a lease."""


class Harness(Protocol):
    ttl_ms: int
    """A short lease, which the store grants to the millisecond."""

    async def open(self) -> MetaStore:
        """A client of the one store of this test; after a `close`, the store started again."""
        ...

    async def pass_ms(self, duration_ms: int) -> None:
        """Let time pass, for leases."""
        ...

    async def outlast(self, lease: LeaseId) -> None:
        """Let time pass until a lease of `ttl_ms` that is not renewed must have ended. A store
        may end a lease late, never early."""
        ...

    async def compact(self, store: MetaStore) -> None:
        """Make the store forget the history before its present revision."""
        ...

    async def close(self) -> None:
        """Leave nothing behind that the next test could notice."""
        ...


class ManualClock:
    def __init__(self) -> None:
        self.ms = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms


class SqliteHarness:
    ttl_ms = 2_000

    def __init__(self, directory: Path) -> None:
        self._path = str(directory / "metadata.sqlite")
        self._clock = ManualClock()

    async def open(self) -> MetaStore:
        return await SqliteStore.open(
            self._path, self._clock, history_revisions_max=HISTORY_REVISIONS
        )

    async def pass_ms(self, duration_ms: int) -> None:
        self._clock.ms += duration_ms

    async def outlast(self, lease: LeaseId) -> None:
        self._clock.ms += self.ttl_ms * 3 // 2

    async def compact(self, store: MetaStore) -> None:
        for _ in range(HISTORY_REVISIONS):
            await store.transact([], [Put("elsewhere", b"")])

    async def close(self) -> None:
        pass


class EtcdHarness:
    """One etcd for all tests; each has a prefix of its own."""

    ttl_ms = 3_000
    """A test may stand still for a third of it before it renews a lease in time."""

    def __init__(self, shared: Etcd, test: str) -> None:
        self._etcd = shared
        self._prefix = f"/duolog/{test}/"
        self._is_opened = False

    async def open(self) -> MetaStore:
        if self._is_opened:
            self._etcd.kill(0)
            self._etcd.start(0)
            self._etcd.until_healthy()
        self._is_opened = True
        return await EtcdStore.open(self._etcd.endpoints, self._prefix)

    async def pass_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)

    async def outlast(self, lease: LeaseId) -> None:
        async with asyncio.timeout(self.ttl_ms / 1000 + EXPIRY_LATE_S_MAX):
            while lease in self._etcd.lease_ids():
                await asyncio.sleep(0.02)

    async def compact(self, store: MetaStore) -> None:
        self._etcd.compact()

    async def close(self) -> None:
        # One that ended during the next test would raise the revision there.
        self._etcd.revoke_leases()


@pytest.fixture(scope="session")
def shared_etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    if not etcd.is_installed:
        pytest.skip("etcd is not installed")
    with Etcd(tmp_path_factory.mktemp("etcd")) as shared:
        yield shared


def sqlite_harness(request: pytest.FixtureRequest) -> Harness:
    return SqliteHarness(request.getfixturevalue("tmp_path"))


def etcd_harness(request: pytest.FixtureRequest) -> Harness:
    return EtcdHarness(request.getfixturevalue("shared_etcd"), request.node.name)


HARNESSES: dict[str, Callable[[pytest.FixtureRequest], Harness]] = {
    "sqlite": sqlite_harness,
    "etcd": etcd_harness,
    "sim": lambda request: SimHarness(HISTORY_REVISIONS),
}

StoreFactory = Callable[[], Awaitable[MetaStore]]


@pytest.fixture(params=HARNESSES)
def harness(request: pytest.FixtureRequest) -> Harness:
    return HARNESSES[request.param](request)


@pytest.fixture
async def store_factory(harness: Harness) -> AsyncIterator[StoreFactory]:
    opened: list[MetaStore] = []

    async def factory() -> MetaStore:
        opened.append(await harness.open())
        return opened[-1]

    yield factory
    for store in opened:
        await store.close()
    await harness.close()


@pytest.fixture
async def store(store_factory: StoreFactory) -> MetaStore:
    return await store_factory()
