"""This node's cache of the queues' entries. Pure: changed only by `replay` and `publish`.

They are two steps because listeners act in between: a queue appears only once it can be used,
and disappears before it is closed.
"""

from collections.abc import Mapping
from types import MappingProxyType

from duolog.broker.queues.catalog_entries import QueueEntry, decode_queue
from duolog.ports.metastore import Change, ChangeSet

QueueChange = tuple[QueueEntry | None, QueueEntry | None]
"""The entry before and after a change: an existing queue, a deleted one, or None."""


class QueueView:
    def __init__(self) -> None:
        self._queues: dict[str, QueueEntry] = {}
        self._deleted: dict[str, QueueEntry] = {}
        self._by_key: dict[str, QueueEntry] = {}
        self.queues: Mapping[str, QueueEntry] = MappingProxyType(self._queues)
        self.deleted: Mapping[str, QueueEntry] = MappingProxyType(self._deleted)

    def by_key(self, key: str) -> QueueEntry | None:
        """Entry under a store key, which may not be published yet."""
        return self._by_key.get(key)

    def replay(self, changes: ChangeSet) -> list[QueueChange]:
        """Applies the changes; returns the queue changes, which the caller publishes."""
        return [meant for change in changes.changes for meant in self._replay(change)]

    def publish(self, change: QueueChange) -> None:
        old, new = change
        if old is not None:
            del self._home(old)[old.name]
        if new is not None:
            self._home(new)[new.name] = new

    def _home(self, queue: QueueEntry) -> dict[str, QueueEntry]:
        return self._deleted if queue.is_deleted else self._queues

    def _replay(self, change: Change) -> list[QueueChange]:
        old = self._by_key.pop(change.key, None)
        if change.entry is None:
            return [] if old is None else [(old, None)]
        new = decode_queue(change.entry)
        self._by_key[change.key] = new
        if old is not None and old.id != new.id:
            # Deleted and created again between two looks: a different queue of the same name.
            return [(old, None), (None, new)]
        return [(old, new)]
