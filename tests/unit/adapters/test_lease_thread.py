"""The lease is renewed while the event loop is held up, and not once the loop is dead."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from duolog.adapters import lease_keeper
from duolog.adapters.clock import SystemClock
from duolog.adapters.lease_thread import LeaseThread
from duolog.ports.metastore import LeaseExpired, LeaseId, StoreUnavailable

LEASE, OTHER = LeaseId(7), LeaseId(8)
INTERVAL_MS = 40
SECONDS_MAX = 20.0


class Store:
    """Counts renewals; whoever calls is on the thread's own loop."""

    def __init__(self) -> None:
        self.renewed: list[LeaseId] = []
        self.failure: Exception | None = None
        self.is_closed = False

    async def renew_lease(self, lease: LeaseId) -> None:
        if self.failure is not None:
            raise self.failure
        self.renewed.append(lease)

    async def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
async def thread(store: Store) -> AsyncIterator[LeaseThread]:
    async def open_store() -> Any:
        return store

    thread = LeaseThread(open_store, SystemClock(), INTERVAL_MS)
    yield thread
    await thread.stop()
    assert store.is_closed == bool(store.renewed or store.failure)


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(SECONDS_MAX):
        while not holds():
            await asyncio.sleep(0.005)


def hold_up_the_loop(until_true: Callable[[], object]) -> None:
    """As a long turn does: nothing else runs on the loop."""
    deadline = time.monotonic() + SECONDS_MAX
    while not until_true() and time.monotonic() < deadline:
        time.sleep(0.005)


async def test_a_lease_is_renewed_while_a_long_turn_holds_up_the_loop(
    thread: LeaseThread, store: Store
) -> None:
    thread.guard(LEASE)
    await until(lambda: store.renewed)
    before, known_ms = len(store.renewed), thread.renewed_ms(LEASE)
    hold_up_the_loop(lambda: len(store.renewed) >= before + 3)
    assert len(store.renewed) >= before + 3
    assert thread.renewed_ms(LEASE) > known_ms
    assert thread.renewed_ms(OTHER) == 0


async def test_a_loop_that_stands_still_loses_its_lease(
    thread: LeaseThread, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease_keeper, "LOOP_STANDS_MS_MAX", 200)
    thread.guard(LEASE)
    await until(lambda: store.renewed)
    time.sleep(1.0)  # noqa: ASYNC251
    before = len(store.renewed)
    time.sleep(0.5)  # noqa: ASYNC251
    assert len(store.renewed) == before
    await until(lambda: len(store.renewed) > before)


async def test_a_lease_that_is_gone_is_told_and_not_asked_for_again(
    thread: LeaseThread, store: Store
) -> None:
    store.failure = LeaseExpired("gone")
    thread.guard(LEASE)
    await until(lambda: thread.is_expired(LEASE))
    assert not thread.is_expired(OTHER)
    store.failure = None
    thread.guard(OTHER)
    await until(lambda: thread.renewed_ms(OTHER))
    assert LEASE not in store.renewed


async def test_a_lease_granted_while_the_last_one_is_found_gone_is_renewed(
    thread: LeaseThread, store: Store
) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()
    renew = store.renew_lease

    async def renew_slowly(lease: LeaseId) -> None:
        if lease == LEASE:
            is_asked.set()
            await asyncio.to_thread(may_answer.wait, INTERVAL_MS / 1000 / 2)
            raise LeaseExpired("gone")
        await renew(lease)

    store.renew_lease = renew_slowly  # type: ignore[method-assign]
    thread.guard(LEASE)
    await until(is_asked.is_set)
    thread.guard(OTHER)
    may_answer.set()
    await until(lambda: thread.is_expired(LEASE))
    await until(lambda: thread.renewed_ms(OTHER))


async def test_a_store_that_is_away_is_asked_again(thread: LeaseThread, store: Store) -> None:
    store.failure = StoreUnavailable("no quorum")
    thread.guard(LEASE)
    await asyncio.sleep(0.2)
    assert thread.renewed_ms(LEASE) == 0
    store.failure = None
    await until(lambda: thread.renewed_ms(LEASE))
