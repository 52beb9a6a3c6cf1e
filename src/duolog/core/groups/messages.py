"""Requests to a group, its answers, and the effects it wants performed.

A request that may have to wait comes with a ticket; its answer is an effect that names the ticket,
at once or after later events. Refusals that change nothing are raised instead.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NewType

from duolog.core.groups.ledger import NO_LEADER_EPOCH, GroupRecord, TopicPartition
from duolog.model.errors import Refusal

Ticket = NewType("Ticket", int)

UNKNOWN_MEMBER_ID = ""
"""Member id of a client that was not given one yet."""
NO_GENERATION = -1

MEMBER_BYTES_OVERHEAD = 32
"""Bytes of a member's length fields and time-outs in the group's record."""


@dataclass(frozen=True, slots=True)
class MemberProtocol:
    """An assignment protocol that a member supports."""

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
    """Supported protocols in the member's order of preference."""
    fresh_member_id: str
    """Id for a member that has none; made by the caller because it is random."""
    knows_id_handshake: bool = True
    """True if the client understands being told to join again with the id it is given."""
    knows_skip_assignment: bool = True
    """True if a returning leader understands that it need not assign."""

    @property
    def metadata_bytes(self) -> int:
        return metadata_bytes(self.protocols)

    @property
    def size_bytes(self) -> int:
        """Bytes that the member will take in the group's record, apart from the assignment."""
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
    """All members, for the leader to assign to; empty in answers to the others."""
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
    """None if the client's version does not send it."""
    protocol: str | None
    assignments: Mapping[str, bytes]
    """Assignment by member id; sent by the leader, empty from the others."""


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
    """Retention that the client chose; None leaves it to the coordinator."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Success, durable, except for what was refused."""

    refused: Mapping[TopicPartition, Refusal] = field(default_factory=dict)


Reply = JoinReply | SyncReply | Outcome | Refusal


@dataclass(frozen=True, slots=True)
class Answer:
    ticket: Ticket
    reply: Reply


@dataclass(frozen=True, slots=True)
class Write:
    """Makes the records durable, then calls the group's `written`, which returns the answers."""

    records: tuple[GroupRecord, ...]
    answers: tuple[Answer, ...] = ()


Effect = Answer | Write
