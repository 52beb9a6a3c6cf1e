"""The controller's image of the cluster, from the store's changes and its own transactions.

Its own writes are applied at once, without waiting for the watch to bring them back: the next
decision must not build on a state that the last one replaced.
"""

import uuid
from collections.abc import Mapping
from dataclasses import replace

from duolog.broker.catalog_entries import (
    Topic,
    decode_state,
    decode_topic,
    is_topic_key,
    parse_partition_key,
)
from duolog.broker.membership.entries import (
    decode_load,
    decode_record,
    decode_registration,
    decode_statement,
    node_of_key,
)
from duolog.core.controller.image import ClusterImage, PartitionId, TopicImage
from duolog.model.cluster import LiveNode, NodeRecord, Registration
from duolog.model.load import LoadReport
from duolog.model.names import is_fifo, queue_state_topic
from duolog.model.partition_state import PartitionEntry
from duolog.model.statement import Statement
from duolog.ports.metastore import Change, ChangeSet, Snapshot


class ImageView:
    def __init__(self, topic_defaults: Mapping[str, str]) -> None:
        self._topic_defaults = topic_defaults
        self._registered: dict[int, tuple[Registration, int]] = {}
        self._records: dict[int, tuple[NodeRecord, int]] = {}
        self._topics: dict[str, Topic] = {}
        self._entries: dict[PartitionId, PartitionEntry] = {}
        self._loads: dict[int, LoadReport] = {}
        self._statements: dict[int, Statement] = {}

    def image(self) -> ClusterImage:
        """The image as of now, which later changes leave as it is."""
        records = {node: record for node, (record, _) in self._records.items()}
        live = {
            node: LiveNode(registration, epoch, node in records and records[node].draining)
            for node, (registration, epoch) in self._registered.items()
        }
        return ClusterImage(
            live=live,
            records=records,
            topics=self._topic_images(),
            entries=dict(self._entries),
            data_of={t.id: t.beside for t in self._topics.values() if t.beside is not None},
            loads=dict(self._loads),
            statements=dict(self._statements),
        )

    def record_revision(self, node: int) -> int:
        """Mod-revision of the node's stored record; 0 without one."""
        return self._records[node][1] if node in self._records else 0

    def replay_brokers(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._registered.pop(node, None)
            else:
                registration = decode_registration(change.entry)
                self._registered[node] = registration, change.entry.mod_revision

    def replay_nodes(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._records.pop(node, None)
            elif change.entry.mod_revision > self.record_revision(node):
                self._records[node] = decode_record(change.entry), change.entry.mod_revision

    def replay_loads(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._loads.pop(node, None)
            else:
                self._loads[node] = decode_load(change.entry)

    def replay_statements(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            node = node_of_key(change.key)
            if change.entry is None:
                self._statements.pop(node, None)
            else:
                self._statements[node] = decode_statement(change.entry)

    def replay_catalog(self, changes: ChangeSet) -> None:
        for change in changes.changes:
            if is_topic_key(change.key):
                self._replay_topic(change)
            else:
                self._replay_state(change)

    def brokers_read(self, snapshot: Snapshot) -> None:
        """Replaces all known registrations by the snapshot's."""
        self._registered.clear()
        self.replay_brokers(_as_changes(snapshot))

    def catalog_read(self, snapshot: Snapshot) -> None:
        self._topics.clear()
        self._entries.clear()
        self.replay_catalog(_as_changes(snapshot))

    def record_written(self, record: NodeRecord, mod_revision: int) -> None:
        self._records[record.node] = record, mod_revision

    def state_written(self, partition: PartitionId, entry: PartitionEntry) -> None:
        self._entries[partition] = entry

    def _replay_topic(self, change: Change) -> None:
        if change.entry is None:
            self._topics.pop(change.key, None)
        else:
            self._topics[change.key] = decode_topic(change.entry, self._topic_defaults)

    def _replay_state(self, change: Change) -> None:
        partition = PartitionId(*parse_partition_key(change.key))
        if change.entry is None:
            self._entries.pop(partition, None)
            return
        known = self._entries.get(partition)
        if known is None or known.mod_revision < change.entry.mod_revision:
            self._entries[partition] = decode_state(change.entry)

    def _topic_images(self) -> dict[uuid.UUID, TopicImage]:
        names = {topic.name for topic in self._topics.values()}
        return {topic.id: _image(topic, names) for topic in self._topics.values()}


def _as_changes(snapshot: Snapshot) -> ChangeSet:
    return ChangeSet(
        snapshot.revision, tuple(Change(entry.key, entry) for entry in snapshot.entries)
    )


def _image(topic: Topic, names: set[str]) -> TopicImage:
    image = TopicImage(
        id=topic.id,
        name=topic.name,
        partitions=topic.partitions,
        min_in_sync=topic.config.min_insync_replicas,
        is_fsync=topic.config.durability == "fsync",
        is_unclean_allowed=topic.config.unclean_leader_election,
        autoscale_partitions_max=topic.config.autoscale_max_partitions,
        open_limit=topic.open_partition_count,
        factor=topic.factor,
    )
    if queue_state_topic(topic.name) not in names:
        return image
    return replace(image, kind="fifo queue" if is_fifo(topic.name) else "standard queue")
