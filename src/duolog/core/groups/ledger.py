"""Durable state of a group: its committed offsets and last agreed metadata.

Changed only by `replay`, with the records read at start and with each record just written, so that
recovery and normal running are one path. Bytes are in formats.py.
"""

from dataclasses import dataclass, field
from typing import NamedTuple, assert_never

NO_LEADER_EPOCH = -1


class TopicPartition(NamedTuple):
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    """Expiry of a retention that an old client chose with its commit; None otherwise."""


@dataclass(frozen=True, slots=True)
class RecordedMember:
    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    """The member's metadata for the group's chosen protocol."""
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp_ms: int | None
    """Time at which the group entered its state; unknown in records of old formats."""
    members: tuple[RecordedMember, ...]


@dataclass(frozen=True, slots=True)
class OffsetCommitted:
    group_id: str
    at: TopicPartition
    committed: CommittedOffset


@dataclass(frozen=True, slots=True)
class OffsetForgotten:
    group_id: str
    at: TopicPartition


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    group_id: str
    metadata: GroupMetadata


@dataclass(frozen=True, slots=True)
class GroupForgotten:
    group_id: str


GroupRecord = OffsetCommitted | OffsetForgotten | MetadataChanged | GroupForgotten


@dataclass(slots=True)
class Ledger:
    offsets: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    metadata: GroupMetadata | None = None

    @property
    def is_blank(self) -> bool:
        return self.metadata is None and not self.offsets

    def replay(self, record: GroupRecord) -> None:
        match record:
            case OffsetCommitted():
                self.offsets[record.at] = record.committed
            case OffsetForgotten():
                self.offsets.pop(record.at, None)
            case MetadataChanged():
                self.metadata = record.metadata
            case GroupForgotten():
                self.metadata = None
            case _:
                assert_never(record)
