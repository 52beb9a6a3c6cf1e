"""Metadata store: strongly consistent key-value store under every node's metadata.

Keys are '/'-separated text. Each committed transaction that changes something raises the store's
revision by one; an entry's mod_revision is the revision that last wrote it.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import NewType, Protocol

LeaseId = NewType("LeaseId", int)

OPERATIONS_MAX = 128
"""Limit of operations, and of compares, in one transaction: etcd's default."""


class StoreUnavailable(Exception):
    """The store cannot answer now; a transaction may or may not have been committed."""


class StoreFull(StoreUnavailable):
    """The store's disk has no room for the transaction, which was rolled back."""


class Compacted(Exception):
    """The watched revisions are no longer in the store: read everything again."""


class LeaseExpired(Exception):
    """The lease has ended, and every key that was bound to it is gone."""


@dataclass(frozen=True, slots=True)
class Entry:
    key: str
    value: bytes
    mod_revision: int
    lease: LeaseId | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    revision: int
    """Revision of the store at which the entries were read; watch from the next one."""
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """Condition that the key's mod_revision is this one; 0 means that the key is absent."""

    key: str
    mod_revision: int


@dataclass(frozen=True, slots=True)
class Put:
    key: str
    value: bytes
    lease: LeaseId | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    key: str


@dataclass(frozen=True, slots=True)
class TransactionResult:
    committed: bool
    revision: int
    """Revision made by the commit, or the store's revision at the refusal."""


@dataclass(frozen=True, slots=True)
class Change:
    key: str
    entry: Entry | None
    """New entry; None if the key was deleted."""


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """All changes of one revision under the watched prefix, never split."""

    revision: int
    changes: tuple[Change, ...]


class MetaStore(Protocol):
    async def get(self, key: str) -> Entry | None:
        """The entry of a key; linearizable."""
        ...

    async def range(self, prefix: str) -> Snapshot:
        """Every entry whose key starts with the prefix, ordered by key; linearizable."""
        ...

    async def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        """Performs all operations if all compares hold, else none.

        A key may be named by one operation at most. Putting with an expired lease raises
        LeaseExpired and changes nothing.
        """
        ...

    async def grant_lease(self, ttl_ms: int) -> LeaseId: ...

    async def renew_lease(self, lease: LeaseId) -> None:
        """Restarts the lease's time; raises LeaseExpired if it is too late."""
        ...

    async def revoke_lease(self, lease: LeaseId) -> None:
        """Ends the lease and deletes its keys. An expired one is fine."""
        ...

    def watch(self, prefix: str, from_revision: int) -> AsyncIterator[ChangeSet]:
        """Changes from that revision on, in order, each once, until the iterator is closed.

        Raises Compacted if the store no longer has them.
        """
        ...

    async def close(self) -> None: ...
