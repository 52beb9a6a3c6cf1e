import asyncio
import sqlite3
import time

import pytest

from duolog.adapters.sqlite import SqliteStore
from duolog.adapters.sqlite_database import Database
from duolog.ports.metastore import Put, StoreFull, StoreUnavailable


class ManualClock:
    ms = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms


class SystemClock(ManualClock):
    def monotonic_ms(self) -> int:
        return time.monotonic_ns() // 1_000_000


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "metadata.sqlite")


async def test_a_second_opener_is_refused_while_the_first_is_open(path):
    first = await SqliteStore.open(path, ManualClock())
    with pytest.raises(StoreUnavailable, match="locked"):
        await SqliteStore.open(path, ManualClock())
    await first.close()
    await (await SqliteStore.open(path, ManualClock())).close()


async def test_a_file_that_is_no_database_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("these are not the pages you are looking for" * 50)
    with pytest.raises(StoreUnavailable, match="not a database"):
        await SqliteStore.open(str(tmp_path / "notes.txt"), ManualClock())


async def test_a_database_of_a_later_version_is_refused(path):
    await (await SqliteStore.open(path, ManualClock())).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreUnavailable, match="version 99"):
        await SqliteStore.open(path, ManualClock())


async def test_a_closed_store_refuses_and_ends_its_watches(path):
    store = await SqliteStore.open(path, ManualClock())
    watching = asyncio.create_task(anext(store.watch("", 1)))
    await asyncio.sleep(0.01)
    await store.close()
    with pytest.raises(StoreUnavailable):
        await watching
    with pytest.raises(StoreUnavailable):
        await store.get("a")
    await store.close()


async def test_after_a_disk_error_nothing_is_served_any_more(path, monkeypatch):
    store = await SqliteStore.open(path, ManualClock())
    watching = asyncio.create_task(anext(store.watch("", 1)))
    await asyncio.sleep(0.01)

    def fail(database: Database, key: str) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
        raise error

    monkeypatch.setattr(Database, "get", fail)
    failing, behind = asyncio.create_task(store.get("a")), asyncio.create_task(store.range(""))
    for task in (failing, behind, watching):
        with pytest.raises(StoreUnavailable):
            await task
    with pytest.raises(StoreUnavailable):
        await store.transact([], [Put("a", b"")])
    await store.close()


async def test_a_full_disk_passes(path, monkeypatch):
    store = await SqliteStore.open(path, ManualClock())

    def fail(database: Database, key: str) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Database, "get", fail)
        with pytest.raises(StoreUnavailable, match="full"):
            await store.get("a")
    assert await store.get("a") is None
    await store.close()


async def test_a_transaction_is_tried_again_in_the_room_that_was_made(path, monkeypatch):
    store = await SqliteStore.open(path, ManualClock())
    asked = []
    transact = Database.transact

    def full_at_first(database: Database, *args: object) -> object:
        if not asked:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error
        return transact(database, *args)

    def make_room() -> bool:
        asked.append(True)
        return True

    monkeypatch.setattr(Database, "transact", full_at_first)
    store.make_room = make_room
    assert (await store.transact([], [Put("a", b"1")])).committed
    assert len(asked) == 1
    await store.close()


async def test_a_file_that_could_not_be_prepared_can_be_opened_again(path, monkeypatch):
    prepare = Database._prepare

    def full(database: Database, path: str) -> None:
        prepare(database, path)
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Database, "_prepare", full)
        with pytest.raises(StoreFull):
            await SqliteStore.open(path, ManualClock())
    store = await SqliteStore.open(path, ManualClock())
    await store.close()


async def test_a_committed_change_reaches_watches_though_its_caller_gave_up(path, monkeypatch):
    store = await SqliteStore.open(path, ManualClock())
    loop, started, transact = asyncio.get_running_loop(), asyncio.Event(), Database.transact

    def announced(*args):
        loop.call_soon_threadsafe(started.set)
        return transact(*args)

    monkeypatch.setattr(Database, "transact", announced)
    watching = asyncio.create_task(anext(store.watch("", 1)))
    await asyncio.sleep(0.01)
    writing = asyncio.create_task(store.transact([], [Put("a", b"")]))
    await started.wait()
    writing.cancel()
    seen = await asyncio.wait_for(watching, 5)
    assert seen.changes[0].key == "a"
    await store.close()


async def test_a_lease_ends_while_nobody_calls(path):
    store = await SqliteStore.open(path, SystemClock())
    lease = await store.grant_lease(30)
    put = await store.transact([], [Put("node/1", b"", lease)])
    seen = await asyncio.wait_for(anext(store.watch("node/", put.revision + 1)), 5)
    assert seen.changes[0].entry is None
    await store.close()


async def test_a_watcher_far_behind_is_fed_in_pieces(path, monkeypatch):
    monkeypatch.setattr("duolog.adapters.sqlite_database._READ_REVISIONS_MAX", 3)
    store = await SqliteStore.open(path, ManualClock())
    for n in range(10):
        await store.transact([], [Put("a", b"%d" % n)])
    watch = store.watch("a", 1)
    seen = [await asyncio.wait_for(anext(watch), 5) for _ in range(10)]
    assert [change_set.revision for change_set in seen] == list(range(1, 11))
    await store.close()
