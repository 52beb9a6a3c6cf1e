"""A group driven by hand: a clock that is set, a disk that writes when told."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from struct import pack

from duolog.core.groups.group import Group
from duolog.core.groups.ledger import GroupRecord, TopicPartition
from duolog.core.groups.messages import (
    Answer,
    CommitRequest,
    Effect,
    JoinReply,
    JoinRequest,
    MemberIdentity,
    MemberProtocol,
    OffsetToCommit,
    Reply,
    SyncReply,
    SyncRequest,
    Ticket,
    Write,
)
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import Moment
from duolog.model.errors import MemberIdRequired, Refusal

WALL_MS = 1_700_000_000_000


def subscription(*topics: str, user_data: bytes = b"") -> bytes:
    parts = [pack(">hi", 1, len(topics))]
    parts += (pack(">h", len(topic)) + topic.encode() for topic in topics)
    return b"".join(parts) + pack(">i", len(user_data)) + user_data + pack(">i", 0)


def joining(member_id: str = "", **changes: object) -> JoinRequest:
    request = JoinRequest(
        member_id=member_id,
        instance_id=None,
        client_id="client",
        client_host="10.0.0.1",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=(MemberProtocol("range", subscription("t")),),
        fresh_member_id="",
        knows_id_handshake=False,
        knows_skip_assignment=True,
    )
    return replace(request, **changes)  # type: ignore[arg-type]


@dataclass
class Driver:
    """Remembers the answer to each ticket, and the records in the order of their writing."""

    settings: GroupSettings = field(default_factory=GroupSettings)
    now_ms: int = 0
    writes_at_once: bool = True
    answers: dict[Ticket, Reply] = field(default_factory=dict)
    records: list[GroupRecord] = field(default_factory=list)
    pending_writes: list[Write] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.group = Group("g", self.settings)
        self._tickets = count(1)
        self._names = count(1)

    @property
    def now(self) -> Moment:
        return Moment(self.now_ms, WALL_MS + self.now_ms)

    def perform(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Answer):
                assert effect.ticket not in self.answers, "a request is answered once"
                self.answers[effect.ticket] = effect.reply
            else:
                self.pending_writes.append(effect)
        if self.writes_at_once:
            self.write_all()

    def write_all(self) -> None:
        while self.pending_writes:
            write = self.pending_writes.pop(0)
            self.records += write.records
            self.perform(self.group.written(write, self.now))

    def fail_all(self) -> None:
        failed, self.pending_writes = self.pending_writes, []
        for write in failed:
            self.perform(self.group.write_failed(write, self.now))

    def ticket(self) -> Ticket:
        return Ticket(next(self._tickets))

    def join(self, member_id: str = "", **changes: object) -> Ticket:
        ticket = self.ticket()
        changes.setdefault("fresh_member_id", f"m{next(self._names)}")
        self.perform(self.group.join(joining(member_id, **changes), ticket, self.now))
        return ticket

    def sync(
        self, member_id: str, assignments: dict[str, bytes] | None = None, **changes: object
    ) -> Ticket:
        ticket = self.ticket()
        request = SyncRequest(
            MemberIdentity(member_id), self.group.generation, None, None, assignments or {}
        )
        request = replace(request, **changes)  # type: ignore[arg-type]
        self.perform(self.group.sync(request, ticket, self.now))
        return ticket

    def heartbeat(
        self, member_id: str, generation: int | None = None, instance_id: str | None = None
    ) -> None:
        at = self.group.generation if generation is None else generation
        self.group.heartbeat(MemberIdentity(member_id, instance_id), at, self.now)

    def leave(self, *leaving: MemberIdentity | str) -> list[Refusal | None]:
        who = [MemberIdentity(each) if isinstance(each, str) else each for each in leaving]
        results, effects = self.group.leave(who, self.now)
        self.perform(effects)
        return results

    def commit(
        self,
        offset: int,
        *,
        topic: str = "t",
        partition: int = 0,
        member_id: str = "",
        generation: int = -1,
        metadata: str = "",
        retention_ms: int | None = None,
        instance_id: str | None = None,
    ) -> Ticket:
        ticket = self.ticket()
        request = CommitRequest(
            MemberIdentity(member_id, instance_id),
            generation,
            {TopicPartition(topic, partition): OffsetToCommit(offset, metadata)},
            retention_ms,
        )
        self.perform(self.group.commit(request, ticket, self.now))
        return ticket

    def pass_ms(self, duration_ms: int) -> None:
        """Let time go by, ticking whenever the group asks for it."""
        end_ms = self.now_ms + duration_ms
        for _ in range(1_000):
            deadline_ms = self.group.next_deadline_ms()
            if deadline_ms is None or deadline_ms > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline_ms)
            self.perform(self.group.tick(self.now))
        else:
            raise AssertionError("the group asks to be ticked without end")
        self.now_ms = end_ms

    def expire(self) -> None:
        self.perform(self.group.expire(self.now))

    def joined(self, ticket: Ticket) -> JoinReply:
        reply = self.answers[ticket]
        assert isinstance(reply, JoinReply), reply
        return reply

    def synced(self, ticket: Ticket) -> SyncReply:
        reply = self.answers[ticket]
        assert isinstance(reply, SyncReply), reply
        return reply

    def refused(self, ticket: Ticket) -> type[Refusal]:
        reply = self.answers[ticket]
        assert isinstance(reply, Refusal), reply
        return type(reply)

    def given_id(self, ticket: Ticket) -> str:
        reply = self.answers[ticket]
        assert isinstance(reply, MemberIdRequired), reply
        return reply.member_id

    def stable(self, count: int, **changes: object) -> list[str]:
        """Bring a new group with that many members to Stable; their ids, the leader first."""
        tickets = [self.join(**changes) for _ in range(count)]
        self.pass_ms(2 * self.settings.initial_rebalance_delay_ms)
        return self.settle([self.joined(ticket).member_id for ticket in tickets])

    def settle(self, members: list[str]) -> list[str]:
        """Let the members, of whom the first leads, sync."""
        leader, *others = members
        for each in others:
            self.sync(each)
        self.sync(leader, {each: each.encode() for each in members})
        return members
