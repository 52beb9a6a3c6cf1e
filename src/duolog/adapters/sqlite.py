"""MetaStore on SQLite, for a standalone node.

One worker thread owns the connection (adapters/sqlite_database.py), so that the event loop never
waits for the disk and transactions are serial by construction. A watch holds no queue of changes:
it re-reads the stored history when woken, so a slow watcher costs no memory and gets Compacted when
it falls too far behind.
"""

import asyncio
import contextlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from duolog.adapters.sqlite_database import Database
from duolog.ports.clock import Clock
from duolog.ports.metastore import (
    ChangeSet,
    Compare,
    Delete,
    Entry,
    LeaseId,
    Put,
    Snapshot,
    StoreFull,
    StoreUnavailable,
    TransactionResult,
)

HISTORY_REVISIONS_MAX = 10_000
"""Limit of revisions that a watch can look back."""

_PENDING_CALLS_MAX = 256
"""Limit of calls that wait for the worker thread; further callers wait before they join them."""

_EXPIRY_RETRY_S = 1.0
"""Pause of lease expiry after the store refused, for example because the disk is full."""

_PASSING_ERRORS = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY)
"""Errors after which SQLite has rolled back and can be used again."""

T = TypeVar("T")
P = ParamSpec("P")


class SqliteStore:
    """Implements ports.metastore.MetaStore. Made by `open`."""

    def __init__(self, database: Database, worker: ThreadPoolExecutor, clock: Clock) -> None:
        self._database: Database | None = database
        self._worker = worker
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._pending = asyncio.Semaphore(_PENDING_CALLS_MAX)
        self.on_failure: Callable[[sqlite3.Error], None] = lambda error: None
        """Called once, when the store cannot serve any more until it is opened again."""
        self.make_room: Callable[[], bool] = lambda: False
        """Called when the disk has no room; True if a transaction is worth another try."""
        self._revision = 0
        self._changed = asyncio.Event()
        self._lease_granted = asyncio.Event()
        self._expiring = asyncio.create_task(self._expire_leases_when_due())

    @classmethod
    async def open(
        cls, path: str, clock: Clock, *, history_revisions_max: int = HISTORY_REVISIONS_MAX
    ) -> "SqliteStore":
        """Opens or creates the file. ":memory:" keeps everything in memory."""
        worker = ThreadPoolExecutor(1, thread_name_prefix="metastore")
        try:
            database = await asyncio.get_running_loop().run_in_executor(
                worker, Database, path, clock, history_revisions_max
            )
        except sqlite3.Error as error:
            worker.shutdown(wait=False)
            raise _unavailable(error, f"{path}: {error}") from error
        return cls(database, worker, clock)

    async def get(self, key: str) -> Entry | None:
        return await self._run(Database.get, key)

    async def range(self, prefix: str) -> Snapshot:
        return await self._run(Database.range, prefix)

    async def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        return await self._run(Database.transact, compares, operations)

    async def grant_lease(self, ttl_ms: int) -> LeaseId:
        lease = await self._run(Database.grant_lease, ttl_ms)
        self._lease_granted.set()
        return lease

    async def renew_lease(self, lease: LeaseId) -> None:
        await self._run(Database.renew_lease, lease)

    async def revoke_lease(self, lease: LeaseId) -> None:
        await self._run(Database.revoke_lease, lease)

    async def watch(self, prefix: str, from_revision: int) -> AsyncIterator[ChangeSet]:
        next_revision = from_revision
        while True:
            # Taken before the read: a change that the read does not see will set this event.
            changed = self._changed
            sets, next_revision = await self._run(Database.history, prefix, next_revision)
            for change_set in sets:
                yield change_set
            if next_revision > self._revision:
                await changed.wait()

    async def close(self) -> None:
        if self._database is not None:
            self._worker.submit(self._database.close)
            self._stop()
        self._expiring.cancel()
        await self._loop.run_in_executor(None, self._worker.shutdown)

    def _fail(self, error: sqlite3.Error) -> None:
        self._stop()
        self.on_failure(error)

    def _stop(self) -> None:
        """Stops serving, and lets waiting watches notice it."""
        self._database = None
        self._wake_watches()

    async def _run(
        self, work: Callable[Concatenate[Database, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Runs the work on the worker thread, after ending expired leases."""

        def call(database: Database) -> T:
            try:
                database.expire_leases()
                try:
                    return work(database, *args, **kwargs)
                finally:
                    # Announced from here: the caller may be cancelled and never see the result.
                    self._loop.call_soon_threadsafe(self._advanced_to, database.revision())
            except sqlite3.Error as error:
                if _code(error) not in _PASSING_ERRORS:
                    # After a failed sync nobody knows what is on disk. Closed here and now, so that
                    # no call already waiting in line is answered from it.
                    database.close()
                    self._loop.call_soon_threadsafe(self._fail, error)
                raise _unavailable(error, str(error)) from error

        async with self._pending:
            try:
                return await self._submit(call)
            except StoreFull:
                if not self.make_room():
                    raise
            return await self._submit(call)

    async def _submit(self, call: Callable[[Database], T]) -> T:
        if self._database is None:
            raise StoreUnavailable("the metadata store is closed")
        return await self._loop.run_in_executor(self._worker, call, self._database)

    def _advanced_to(self, revision: int) -> None:
        if revision > self._revision:
            self._revision = revision
            self._wake_watches()

    def _wake_watches(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _expire_leases_when_due(self) -> None:
        """Expires leases on time while nobody calls; every call expires them, too."""
        while self._database is not None:
            self._lease_granted.clear()
            try:
                at_ms = await self._run(Database.next_expiry_ms)
            except StoreUnavailable:
                await asyncio.sleep(_EXPIRY_RETRY_S)
                continue
            wait_s = None if at_ms is None else (at_ms - self._clock.monotonic_ms()) / 1000
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._lease_granted.wait(), wait_s)


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _unavailable(error: sqlite3.Error, text: str) -> StoreUnavailable:
    return StoreFull(text) if _code(error) == sqlite3.SQLITE_FULL else StoreUnavailable(text)
