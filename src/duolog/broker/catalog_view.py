"""The catalog as this node knows it. Pure: changed only by `replay` and `publish`.

The two are apart because a change must be acted upon in between: a topic can be found only
once its partitions can be written to, and is gone before they are taken down.
"""

import uuid
from collections.abc import Mapping
from types import MappingProxyType

from duolog.broker.catalog_entries import (
    PartitionState,
    Topic,
    decode_state,
    decode_topic,
    is_topic_key,
    parse_partition_key,
)
from duolog.ports.metastore import Change, ChangeSet, Snapshot

TopicChange = tuple[Topic | None, Topic | None]
"""Before and after: (None, new) was created, (old, None) was deleted."""


class CatalogView:
    def __init__(self, defaults: Mapping[str, str]) -> None:
        self._defaults = defaults
        self._topics: dict[str, Topic] = {}
        self._names_by_id: dict[uuid.UUID, str] = {}
        self._names_by_key: dict[str, str] = {}
        self._states: dict[uuid.UUID, dict[int, PartitionState]] = {}
        self._mod_revisions: dict[str, int] = {}
        self.topics: Mapping[str, Topic] = MappingProxyType(self._topics)

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        name = self._names_by_id.get(topic_id)
        return None if name is None else self._topics[name]

    def state(self, topic_id: uuid.UUID, index: int) -> PartitionState | None:
        return self._states.get(topic_id, {}).get(index)

    def difference(self, snapshot: Snapshot) -> ChangeSet:
        """What leads from this view to the snapshot, as if it had been one transaction."""
        changes = [
            Change(entry.key, entry)
            for entry in snapshot.entries
            if self._mod_revisions.get(entry.key) != entry.mod_revision
        ]
        present = {entry.key for entry in snapshot.entries}
        changes += [Change(key, None) for key in self._mod_revisions if key not in present]
        return ChangeSet(snapshot.revision, tuple(changes))

    def replay(self, changes: ChangeSet) -> list[TopicChange]:
        """Take in partition states; return the topics' changes, each still to be published."""
        topic_changes: list[TopicChange] = []
        for change in changes.changes:
            if change.entry is None:
                self._mod_revisions.pop(change.key, None)
            else:
                self._mod_revisions[change.key] = change.entry.mod_revision
            if is_topic_key(change.key):
                topic_changes += self._replay_topic(change)
            else:
                self._replay_state(change)
        return topic_changes

    def publish(self, change: TopicChange) -> None:
        old, new = change
        if new is None:
            assert old is not None
            del self._topics[old.name]
            del self._names_by_id[old.id]
        else:
            self._topics[new.name] = new
            self._names_by_id[new.id] = new.name

    def _replay_topic(self, change: Change) -> list[TopicChange]:
        name = self._names_by_key.pop(change.key, None)
        old = None if name is None else self._topics[name]
        if change.entry is None:
            return [] if old is None else [(old, None)]
        new = decode_topic(change.entry, self._defaults)
        self._names_by_key[change.key] = new.name
        if old is not None and old.id != new.id:
            # Deleted and made again while nobody was watching: not the same topic.
            return [(old, None), (None, new)]
        return [(old, new)]

    def _replay_state(self, change: Change) -> None:
        topic_id, index = parse_partition_key(change.key)
        states = self._states.setdefault(topic_id, {})
        if change.entry is None:
            states.pop(index, None)
        else:
            states[index] = decode_state(change.entry.value)
        if not states:
            del self._states[topic_id]

    def orphans(self) -> list[str]:
        """Keys of partition states whose topic is not there."""
        return [
            key
            for key in self._mod_revisions
            if not is_topic_key(key) and parse_partition_key(key)[0] not in self._names_by_id
        ]
