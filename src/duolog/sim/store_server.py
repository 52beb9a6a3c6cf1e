"""The metadata store: one strongly consistent history, leases, and outages."""

from bisect import bisect_left
from collections.abc import Callable, Sequence

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
from duolog.sim.world import NS_PER_MS, World

STORE = "store"
"""Name of the store's machine on the links."""
HISTORY_REVISIONS_MAX = 10_000


class _Lease:
    def __init__(self, ttl_ns: int, expires_ns: int) -> None:
        self.ttl_ns = ttl_ns
        self.expires_ns = expires_ns
        self.keys: dict[str, None] = {}


class StoreServer:
    """Serves each call at once; store.py adds delays and failures."""

    def __init__(self, world: World, history_revisions_max: int = HISTORY_REVISIONS_MAX) -> None:
        self._world = world
        self._history_max = history_revisions_max
        self.revision = 0
        self.is_available = True
        self.on_change: dict[Callable[[], None], None] = {}
        """Callbacks of watches, for a new revision or the end of an outage."""
        self.on_expired: list[Callable[[Sequence[str]], None]] = []
        """Called with the keys of each lease that has ended because nobody renewed it."""
        self.observers: list[Callable[[ChangeSet], None]] = []
        """Called with each revision at the moment it is made, so that the oracle sees every
        state."""
        self._entries: dict[str, Entry] = {}
        self._keys: list[str] = []
        """All keys, sorted."""
        self._history: list[ChangeSet] = []
        self._leases: dict[LeaseId, _Lease] = {}
        self._leases_granted = 0

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def range(self, prefix: str) -> Snapshot:
        keys = self._keys
        at = bisect_left(keys, prefix)
        found = []
        while at < len(keys) and keys[at].startswith(prefix):
            found.append(self._entries[keys[at]])
            at += 1
        return Snapshot(self.revision, tuple(found))

    def transact(
        self, compares: Sequence[Compare], operations: Sequence[Put | Delete]
    ) -> TransactionResult:
        assert len({each.key for each in operations}) == len(operations), "a key is named twice"
        for each in operations:
            if isinstance(each, Put) and each.lease is not None and each.lease not in self._leases:
                raise LeaseExpired(f"lease {each.lease}")
        for compare in compares:
            entry = self._entries.get(compare.key)
            if (entry.mod_revision if entry else 0) != compare.mod_revision:
                return TransactionResult(False, self.revision)
        self._commit(operations)
        return TransactionResult(True, self.revision)

    def grant_lease(self, ttl_ms: int) -> LeaseId:
        self._leases_granted += 1
        lease = LeaseId(self._leases_granted)
        self._leases[lease] = _Lease(ttl_ms * NS_PER_MS, 0)
        self.renew_lease(lease)
        return lease

    def renew_lease(self, lease: LeaseId) -> None:
        held = self._leases.get(lease)
        if held is None:
            raise LeaseExpired(f"lease {lease}")
        held.expires_ns = self._world.now_ns + held.ttl_ns
        self._world.after(held.ttl_ns, self._expire, lease)

    def revoke_lease(self, lease: LeaseId) -> None:
        held = self._leases.pop(lease, None)
        if held is not None:
            self._commit([Delete(key) for key in held.keys])

    def history(self, from_revision: int) -> Sequence[ChangeSet]:
        first = self.revision - len(self._history) + 1
        if from_revision < first:
            raise Compacted(f"revision {from_revision} is gone, {first} is the oldest")
        return self._history[from_revision - first :]

    # Called by faults.

    def go_away(self) -> None:
        self.is_available = False

    def come_back(self) -> None:
        """End the outage under a new leader, which renews every lease."""
        self.is_available = True
        for lease in list(self._leases):
            self.renew_lease(lease)
        self._tell()

    def compact(self) -> None:
        self._history.clear()

    def _expire(self, lease: LeaseId) -> None:
        held = self._leases.get(lease)
        if held is not None and self.is_available and self._world.now_ns >= held.expires_ns:
            for expired in self.on_expired:
                expired([*held.keys])
            self.revoke_lease(lease)

    def _commit(self, operations: Sequence[Put | Delete]) -> None:
        revision = self.revision + 1
        changes = []
        for each in operations:
            old = self._entries.get(each.key)
            if isinstance(each, Put):
                entry = Entry(each.key, each.value, revision, each.lease)
                changes.append(Change(each.key, entry))
            elif old is not None:
                changes.append(Change(each.key, None))
            else:
                continue
            self._replace(old, changes[-1])
        if changes:
            self.revision = revision
            change_set = ChangeSet(revision, tuple(changes))
            self._history.append(change_set)
            del self._history[: -self._history_max]
            for observe in self.observers:
                observe(change_set)
            self._tell()

    def _replace(self, old: Entry | None, change: Change) -> None:
        key, entry = change.key, change.entry
        if old is not None and old.lease in self._leases:
            self._leases[old.lease].keys.pop(key, None)
        if entry is None:
            del self._entries[key]
            self._keys.pop(bisect_left(self._keys, key))
            return
        if old is None:
            self._keys.insert(bisect_left(self._keys, key), key)
        self._entries[key] = entry
        if entry.lease is not None:
            self._leases[entry.lease].keys[key] = None

    def _tell(self) -> None:
        for changed in tuple(self.on_change):
            changed()
