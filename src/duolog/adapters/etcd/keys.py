"""Maps keys of callers to etcd's: all of a cluster's are under one prefix that callers never
see."""

from duolog.adapters.etcd.messages import Event, KeyValue
from duolog.ports.metastore import Change, ChangeSet, Entry, LeaseId, StoreUnavailable


class Keys:
    def __init__(self, prefix: str) -> None:
        assert prefix, "without a prefix, a range would need another form of end"
        self._prefix = prefix

    def full(self, key: str) -> bytes:
        return (self._prefix + key).encode()

    def range(self, prefix: str) -> tuple[bytes, bytes]:
        """The half-open range of the keys with this prefix.

        Keys are UTF-8, in which no byte is 0xff, so that adding one to the last byte is exact.
        """
        first = self.full(prefix)
        return first, first[:-1] + bytes([first[-1] + 1])

    def entry(self, stored: KeyValue) -> Entry:
        lease = LeaseId(stored.lease) if stored.lease else None
        return Entry(self._own(stored.key), stored.value, stored.mod_revision, lease)

    def change_set(self, revision: int, events: list[Event]) -> ChangeSet:
        return ChangeSet(revision, tuple(self._change(event) for event in events))

    def _change(self, event: Event) -> Change:
        if event.type == "DELETE":
            return Change(self._own(event.kv.key), None)
        entry = self.entry(event.kv)
        return Change(entry.key, entry)

    def _own(self, key: bytes) -> str:
        try:
            text = key.decode()
        except UnicodeDecodeError:
            raise StoreUnavailable(f"etcd holds a key that is not text, {key!r}") from None
        if not text.startswith(self._prefix):
            raise StoreUnavailable(
                f"etcd answers with {text!r}, which is outside the cluster's prefix"
            )
        return text[len(self._prefix) :]
