"""What is asked of a group, what it answers, and what it wants done.

A request that may have to wait comes with a ticket; its answer is an effect that names the
ticket, at once or after later events. Refusals that change nothing are raised instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NewType

from duolog.core.groups.ledger import NO_LEADER_EPOCH, GroupRecord, TopicPartition
from duolog.model.errors import Refusal

Ticket = NewType("Ticket", int)

UNKNOWN_MEMBER_ID = ""
"""What a client calls itself before it was given an id."""
NO_GENERATION = -1

MEMBER_BYTES_OVERHEAD = 32
"""Length fields and time-outs of a member in the group's record."""


@dataclass(frozen=True, slots=True)
class MemberProtocol:
    """One way of assigning that a member can take part in."""

    name: str
    metadata: bytes


def metadata_bytes(protocols: Iterable[MemberProtocol]) -> int:
    return sum(len(each.metadata) for each in protocols)


def text_bytes(*texts: str) -> int:
    return sum(len(each.encode()) for each in texts)


@dataclass(frozen=True, slots=True)
class JoinRequest:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    """In the member's order of preference."""
    fresh_member_id: str
    """The id to give to a member that has none: made by the caller, because it is random."""
    knows_id_handshake: bool = True
    """Whether the client understands being told to join again with the id it is given."""
    knows_skip_assignment: bool = True
    """Whether a leader that comes back understands that it need not assign."""

    @property
    def metadata_bytes(self) -> int:
        return metadata_bytes(self.protocols)

    @property
    def size_bytes(self) -> int:
        """What the member will take in the group's record, apart from the assignment."""
        member_id = self.member_id or self.fresh_member_id
        names = (member_id, self.instance_id or "", self.client_id, self.client_host)
        return MEMBER_BYTES_OVERHEAD + text_bytes(*names) + self.metadata_bytes


@dataclass(frozen=True, slots=True)
class JoinedMember:
    id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinReply:
    member_id: str
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    members: tuple[JoinedMember, ...] = ()
    """Everybody, for the leader to assign to; empty for the others."""
    skip_assignment: bool = False


@dataclass(frozen=True, slots=True)
class MemberIdentity:
    member_id: str
    instance_id: str | None = None


@dataclass(frozen=True, slots=True)
class SyncRequest:
    identity: MemberIdentity
    generation: int
    protocol_type: str | None
    """None from clients that do not say."""
    protocol: str | None
    assignments: Mapping[str, bytes]
    """By member id; empty unless it is the leader who asks."""


@dataclass(frozen=True, slots=True)
class SyncReply:
    protocol_type: str
    protocol: str
    assignment: bytes


@dataclass(frozen=True, slots=True)
class OffsetToCommit:
    offset: int
    metadata: str = ""
    leader_epoch: int = NO_LEADER_EPOCH


@dataclass(frozen=True, slots=True)
class CommitRequest:
    identity: MemberIdentity
    generation: int
    offsets: Mapping[TopicPartition, OffsetToCommit]
    retention_ms: int | None = None
    """Chosen by the client; None leaves it to the coordinator."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Done, durably, except for what was refused."""

    refused: Mapping[TopicPartition, Refusal] = field(default_factory=dict)


Reply = JoinReply | SyncReply | Outcome | Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    ticket: Ticket
    reply: Reply


@dataclass(frozen=True, slots=True)
class Write:
    """Make the records durable, hand this back to the group's `written`, then give the answers."""

    records: tuple[GroupRecord, ...]
    answers: tuple[Answer, ...] = ()


Effect = Answer | Write
