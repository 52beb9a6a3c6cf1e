"""Tables of the metadata store: entries, their recent history, and leases.

Blocking, and used by one thread only: adapters/sqlite.py owns that thread. The revision and the
history live in the database alone, so a transaction that is rolled back leaves nothing in memory.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from duolog.ports.clock import Clock
from duolog.ports.metastore import (
    Change,
    ChangeSet,
    Compacted,
    Compare,
    Delete,
    Entry,
    LeaseExpired,
    LeaseId,
    Put,
    Snapshot,
    TransactionResult,
)

_SCHEMA_VERSION = 1

# Keys are stored as their UTF-8 bytes: no byte of UTF-8 is 0xff, so every prefix has an exact upper
# bound, and bytes sort as the text does.
_SCHEMA = f"""
    BEGIN IMMEDIATE;
    CREATE TABLE entries (
        key BLOB PRIMARY KEY, value BLOB NOT NULL, mod_revision INTEGER NOT NULL, lease INTEGER
    ) WITHOUT ROWID;
    CREATE INDEX entries_by_lease ON entries (lease) WHERE lease IS NOT NULL;
    CREATE TABLE history (
        revision INTEGER, key BLOB, value BLOB, lease INTEGER, PRIMARY KEY (revision, key)
    ) WITHOUT ROWID;
    CREATE TABLE leases (id INTEGER PRIMARY KEY AUTOINCREMENT, ttl_ms INTEGER NOT NULL);
    CREATE TABLE counter (revision INTEGER NOT NULL);
    INSERT INTO counter VALUES (0);
    PRAGMA user_version = {_SCHEMA_VERSION};
    COMMIT;
"""

_READ_REVISIONS_MAX = 1_000
"""Limit of revisions that one read of the history returns, so that no reader holds it all."""


class Database:
    def __init__(self, path: str, clock: Clock, history_revisions_max: int) -> None:
        self._clock = clock
        self._history_revisions_max = history_revisions_max
        self._connection = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            self._prepare(path)
        except sqlite3.Error:
            # Or its lock would keep the next attempt out.
            self._connection.close()
            raise
        # The previous process's clock says nothing about now, so every lease it left gets its whole
        # time again: late expiry is safe, early expiry is not.
        now_ms = clock.monotonic_ms()
        self._deadlines_ms: dict[int, int] = {
            lease: now_ms + ttl_ms
            for lease, ttl_ms in self._connection.execute("SELECT id, ttl_ms FROM leases")
        }

    def _prepare(self, path: str) -> None:
        # Exclusive: a second process on the same file is refused instead of sharing it.
        self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        (version,) = self._one("PRAGMA user_version")
        if version == 0:
            self._connection.executescript(_SCHEMA)
        elif version != _SCHEMA_VERSION:
            raise sqlite3.DatabaseError(f"{path} has unknown schema version {version}")

    def close(self) -> None:
        self._connection.close()

    def revision(self) -> int:
        revision: int = self._one("SELECT revision FROM counter")[0]
        return revision

    def get(self, key: str) -> Entry | None:
        row = self._connection.execute(
            "SELECT key, value, mod_revision, lease FROM entries WHERE key = ?", (key.encode(),)
        ).fetchone()
        return _entry(*row) if row else None

    def range(self, prefix: str) -> Snapshot:
        rows = self._connection.execute(
            "SELECT key, value, mod_revision, lease FROM entries"
            " WHERE key >= ? AND key < ? ORDER BY key",
            _bounds(prefix),
        )
        return Snapshot(self.revision(), tuple(_entry(*row) for row in rows))

    def history(self, prefix: str, from_revision: int) -> tuple[list[ChangeSet], int]:
        """The changes from that revision on, and the revision to ask for next."""
        revision = self.revision()
        (oldest,) = self._one("SELECT coalesce(min(revision), 1) FROM history")
        if max(from_revision, 1) < oldest:
            raise Compacted(f"revision {from_revision} is gone; the oldest is {oldest}")
        end = min(revision + 1, from_revision + _READ_REVISIONS_MAX)
        rows = self._connection.execute(
            "SELECT revision, key, value, lease FROM history"
            " WHERE revision >= ? AND revision < ? AND key >= ? AND key < ?"
            " ORDER BY revision, key",
            (from_revision, end, *_bounds(prefix)),
        )
        changes: dict[int, list[Change]] = {}
        for at, key, value, lease in rows:
            entry = None if value is None else _entry(key, value, at, lease)
            changes.setdefault(at, []).append(Change(key.decode(), entry))
        sets = [ChangeSet(at, tuple(of_one)) for at, of_one in changes.items()]
        return sets, max(end, from_revision)

    def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        keys = {operation.key for operation in operations}
        assert len(keys) == len(operations), "one transaction names a key twice"
        with self._transaction():
            if not all(self._holds(compare) for compare in compares):
                return TransactionResult(False, self.revision())
            return TransactionResult(True, self._apply(operations))

    def grant_lease(self, ttl_ms: int) -> LeaseId:
        with self._transaction():
            cursor = self._connection.execute("INSERT INTO leases (ttl_ms) VALUES (?)", (ttl_ms,))
        assert cursor.lastrowid is not None
        self._deadlines_ms[cursor.lastrowid] = self._clock.monotonic_ms() + ttl_ms
        return LeaseId(cursor.lastrowid)

    def renew_lease(self, lease: LeaseId) -> None:
        row = self._connection.execute(
            "SELECT ttl_ms FROM leases WHERE id = ?", (lease,)
        ).fetchone()
        if row is None:
            raise LeaseExpired(f"lease {lease} is gone")
        self._deadlines_ms[lease] = self._clock.monotonic_ms() + row[0]

    def revoke_lease(self, lease: LeaseId) -> None:
        with self._transaction():
            bound = self._connection.execute(
                "SELECT key FROM entries WHERE lease = ?", (lease,)
            ).fetchall()
            self._apply([Delete(key.decode()) for (key,) in bound])
            self._connection.execute("DELETE FROM leases WHERE id = ?", (lease,))
        self._deadlines_ms.pop(lease, None)

    def expire_leases(self) -> None:
        """Ends every expired lease, each as a revision of its own."""
        now_ms = self._clock.monotonic_ms()
        for lease in [lease for lease, at_ms in self._deadlines_ms.items() if at_ms <= now_ms]:
            self.revoke_lease(LeaseId(lease))

    def next_expiry_ms(self) -> int | None:
        """Expiry of the next lease, on the monotonic clock; None without leases."""
        return min(self._deadlines_ms.values(), default=None)

    def _holds(self, compare: Compare) -> bool:
        entry = self.get(compare.key)
        return (entry.mod_revision if entry else 0) == compare.mod_revision

    def _apply(self, operations: Sequence[Put | Delete]) -> int:
        """Writes the operations as the next revision; without an effect there is none."""
        revision = self.revision() + 1
        changed = False
        for operation in operations:
            if isinstance(operation, Put):
                self._put(operation, revision)
                changed = True
            else:
                changed |= self._delete(operation, revision)
        if not changed:
            return revision - 1
        self._connection.execute("UPDATE counter SET revision = ?", (revision,))
        self._connection.execute(
            "DELETE FROM history WHERE revision <= ?", (revision - self._history_revisions_max,)
        )
        return revision

    def _put(self, put: Put, revision: int) -> None:
        if put.lease is not None and put.lease not in self._deadlines_ms:
            raise LeaseExpired(f"lease {put.lease} is gone")
        key = put.key.encode()
        self._connection.execute(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)",
            (key, put.value, revision, put.lease),
        )
        self._connection.execute(
            "INSERT INTO history VALUES (?, ?, ?, ?)", (revision, key, put.value, put.lease)
        )

    def _delete(self, delete: Delete, revision: int) -> bool:
        key = delete.key.encode()
        if not self._connection.execute("DELETE FROM entries WHERE key = ?", (key,)).rowcount:
            return False
        self._connection.execute("INSERT INTO history VALUES (?, ?, NULL, NULL)", (revision, key))
        return True

    def _one(self, query: str) -> tuple[int, ...]:
        row: tuple[int, ...] = self._connection.execute(query).fetchone()
        return row

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        finally:
            # A transaction still open means that something failed: nothing of it may stay.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _entry(key: bytes, value: bytes, mod_revision: int, lease: int | None) -> Entry:
    return Entry(key.decode(), value, mod_revision, None if lease is None else LeaseId(lease))


def _bounds(prefix: str) -> tuple[bytes, bytes]:
    """The half-open range of the keys with this prefix."""
    first = prefix.encode()
    if not first:
        return b"", b"\xff"
    return first, first[:-1] + bytes([first[-1] + 1])
