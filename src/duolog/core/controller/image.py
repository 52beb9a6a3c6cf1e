"""The cluster as the controller sees it when it decides. Pure data."""

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from duolog.model.cluster import LiveNode, NodeRecord
from duolog.model.load import LoadReport
from duolog.model.log_end import LogEnd
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.model.statement import Statement

TopicKind = Literal["topic", "standard queue", "fifo queue"]


@dataclass(frozen=True, slots=True)
class PartitionId:
    topic_id: uuid.UUID
    index: int


@dataclass(frozen=True, slots=True)
class TopicImage:
    id: uuid.UUID
    name: str
    partitions: int
    min_in_sync: int = 1
    is_fsync: bool = True
    """True if a replica reports only what is on its disk, so that no crash can take it back."""
    is_unclean_allowed: bool = False
    kind: TopicKind = "topic"
    autoscale_partitions_max: int = 0
    """Limit up to which the topic grows by itself; 0 disables autoscaling."""
    open_limit: int | None = None
    """Number of a queue's partitions that accept new messages; None is all."""
    factor: int | None = None
    """Wanted number of replicas, if it was made while fewer brokers were alive."""

    @property
    def open_partition_count(self) -> int:
        return self.partitions if self.open_limit is None else self.open_limit


class Member(NamedTuple):
    """One partition of a group."""

    id: PartitionId
    topic: TopicImage
    entry: PartitionEntry

    @property
    def state(self) -> PartitionState:
        return self.entry.state

    @property
    def text(self) -> str:
        return f"{self.topic.name}-{self.id.index}"


Group = tuple[Member, ...]
"""A partition and its companions, which share replicas and leader. The partition that holds the
messages comes first."""


@dataclass(frozen=True)
class ClusterImage:
    live: Mapping[int, LiveNode] = field(default_factory=dict)
    records: Mapping[int, NodeRecord] = field(default_factory=dict)
    topics: Mapping[uuid.UUID, TopicImage] = field(default_factory=dict)
    entries: Mapping[PartitionId, PartitionEntry] = field(default_factory=dict)
    data_of: Mapping[uuid.UUID, uuid.UUID] = field(default_factory=dict)
    """Topic of a queue's journal → topic of its messages."""
    loads: Mapping[int, LoadReport] = field(default_factory=dict)
    log_ends: Mapping[PartitionId, Mapping[int, LogEnd]] = field(default_factory=dict)
    """Where the logs of live nodes end, by partition and node; only of partitions about which
    `unclean_candidates` asked."""
    statements: Mapping[int, Statement] = field(default_factory=dict)
    """Last statement of each node; whether it counts yet or still, Census says."""

    @property
    def brokers(self) -> list[LiveNode]:
        """Live nodes that can hold partitions, by node id."""
        return [
            self.live[node]
            for node in sorted(self.live)
            if "broker" in self.live[node].registration.roles
        ]

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """All groups, in an order that depends on the catalog alone."""
        return tuple(self._grouped())

    def _grouped(self) -> Iterator[Group]:
        journals: dict[uuid.UUID, list[TopicImage]] = {}
        for journal_id, data_id in self.data_of.items():
            if journal_id in self.topics and data_id in self.topics:
                journals.setdefault(data_id, []).append(self.topics[journal_id])
        followed = {journal.id for those in journals.values() for journal in those}
        for topic in sorted(self.topics.values(), key=lambda topic: topic.name):
            if topic.id in followed:
                continue
            beside = sorted(journals.get(topic.id, ()), key=lambda journal: journal.name)
            for index in range(max(each.partitions for each in (topic, *beside))):
                if group := self._group((topic, *beside), index):
                    yield group

    def _group(self, topics: tuple[TopicImage, ...], index: int) -> Group:
        members = []
        for topic in topics:
            partition = PartitionId(topic.id, index)
            entry = self.entries.get(partition)
            if entry is not None and index < topic.partitions:
                members.append(Member(partition, topic, entry))
        return tuple(members)
