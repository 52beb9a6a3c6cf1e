"""This node's cache of the catalog. Pure: changed only by `replay` and `publish`.

They are two steps because listeners act in between: a topic appears only once its partitions
can be written to, and disappears before they are closed.
"""

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from duolog.broker.catalog_entries import (
    Topic,
    decode_state,
    decode_topic,
    is_topic_key,
    parse_partition_key,
    partition_key,
)
from duolog.model.partition_state import PartitionEntry
from duolog.ports.metastore import Change, ChangeSet

TopicChange = tuple[Topic | None, Topic | None]
"""The topic before and after: (None, new) was created, (old, None) was deleted."""


@dataclass(frozen=True, slots=True)
class PartitionChange:
    """A changed leader, in-sync set or replica set of an existing partition."""

    topic_id: uuid.UUID
    index: int


class CatalogView:
    def __init__(self, defaults: Mapping[str, str]) -> None:
        self._defaults = defaults
        self._topics: dict[str, Topic] = {}
        self._names_by_id: dict[uuid.UUID, str] = {}
        self._names_by_key: dict[str, str] = {}
        self._states: dict[uuid.UUID, dict[int, PartitionEntry]] = {}
        self._state_revisions: dict[uuid.UUID, int] = {}
        self._replica_counts: Counter[int] = Counter()
        self.topics: Mapping[str, Topic] = MappingProxyType(self._topics)
        self.replica_counts: Mapping[int, int] = MappingProxyType(self._replica_counts)
        """Node id → number of partitions of which it is a replica."""

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        name = self._names_by_id.get(topic_id)
        return None if name is None else self._topics[name]

    def state(self, topic_id: uuid.UUID, index: int) -> PartitionEntry | None:
        return self._states.get(topic_id, {}).get(index)

    def states_revision(self, topic_id: uuid.UUID) -> int:
        """Highest mod-revision of the topic's partition states; 0 without any."""
        return self._state_revisions.get(topic_id, 0)

    def replay(self, changes: ChangeSet) -> list[TopicChange | PartitionChange]:
        """Applies the partition states; returns the topic changes, which the caller publishes,
        and the changes of partitions that were known before."""
        topic_changes: list[TopicChange | PartitionChange] = []
        partition_changes: list[TopicChange | PartitionChange] = []
        for change in changes.changes:
            if is_topic_key(change.key):
                topic_changes += self._replay_topic(change)
            else:
                partition_changes += self._replay_state(change)
        return topic_changes + partition_changes

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
            # Deleted and created again between two looks: a different topic of the same name.
            return [(old, None), (None, new)]
        return [(old, new)]

    def _replay_state(self, change: Change) -> list[PartitionChange]:
        topic_id, index = parse_partition_key(change.key)
        states = self._states.setdefault(topic_id, {})
        known = states.pop(index, None)
        if known is not None:
            self._replica_counts.subtract(known.state.replicas)
        if change.entry is not None:
            entry = states[index] = decode_state(change.entry)
            self._replica_counts.update(entry.state.replicas)
            newest = self._state_revisions.get(topic_id, 0)
            self._state_revisions[topic_id] = max(newest, entry.mod_revision)
        if not states:
            del self._states[topic_id]
            self._state_revisions.pop(topic_id, None)
        is_changed = known is not None and change.entry is not None
        return [PartitionChange(topic_id, index)] if is_changed else []

    def orphans(self) -> dict[str, int]:
        """Keys of partition states without a topic → their mod-revisions."""
        return {
            partition_key(topic_id, index): entry.mod_revision
            for topic_id, states in self._states.items()
            if topic_id not in self._names_by_id
            for index, entry in states.items()
        }
