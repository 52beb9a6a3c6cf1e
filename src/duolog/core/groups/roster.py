"""Members of a group: the leader, the parked requests, the protocols they have in common."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from duolog.core.groups.ledger import GroupMetadata, RecordedMember
from duolog.core.groups.messages import (
    MEMBER_BYTES_OVERHEAD,
    JoinedMember,
    JoinRequest,
    MemberIdentity,
    MemberProtocol,
    Ticket,
    metadata_bytes,
    text_bytes,
)
from duolog.model.errors import FencedInstanceId, UnknownMember


@dataclass(slots=True)
class Member:
    id: str
    instance_id: str | None
    """Name of a static member: one that keeps its place over a restart."""
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[MemberProtocol, ...]
    session_deadline_ms: int
    assignment: bytes = b""
    is_new: bool = False
    """True until the first join is answered."""

    def metadata_for(self, protocol: str | None) -> bytes:
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")

    @property
    def size_bytes(self) -> int:
        """Lower bound of the member's bytes in the group's record, apart from the assignment."""
        names = (self.id, self.instance_id or "", self.client_id, self.client_host)
        return MEMBER_BYTES_OVERHEAD + text_bytes(*names) + metadata_bytes(self.protocols)


class Roster:
    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        """Members by id, in order of arrival, which decides ties of the vote and the next
        leader."""
        self.leader: str | None = None
        self.protocol_type: str | None = None
        self.pending: dict[str, int] = {}
        """Ids given to members that have yet to join with them → deadline to do so."""
        self.joins: dict[str, Ticket] = {}
        self.syncs: dict[str, Ticket] = {}
        self.size_bytes = 0
        self._ids_by_instance: dict[str, str] = {}
        self._supporters: Counter[str] = Counter()

    @classmethod
    def restored(cls, metadata: GroupMetadata, now_ms: int) -> "Roster":
        """The roster of the last rebalance; every member gets a full session to be heard from
        again."""
        roster = cls()
        for each in metadata.members:
            roster.add(
                Member(
                    id=each.id,
                    instance_id=each.instance_id,
                    client_id=each.client_id,
                    client_host=each.client_host,
                    session_timeout_ms=each.session_timeout_ms,
                    rebalance_timeout_ms=each.rebalance_timeout_ms,
                    protocols=(MemberProtocol(metadata.protocol or "", each.subscription),),
                    session_deadline_ms=now_ms + each.session_timeout_ms,
                    assignment=each.assignment,
                )
            )
        roster.protocol_type = metadata.protocol_type or None
        roster.leader = metadata.leader
        return roster

    def recorded(
        self, protocol: str | None, assignments: Mapping[str, bytes] | None
    ) -> tuple[RecordedMember, ...]:
        """The members as `restored` reads them; `assignments` None keeps the present ones."""
        return tuple(
            RecordedMember(
                id=each.id,
                instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                rebalance_timeout_ms=each.rebalance_timeout_ms,
                session_timeout_ms=each.session_timeout_ms,
                subscription=each.metadata_for(protocol),
                assignment=each.assignment
                if assignments is None
                else assignments.get(each.id, b""),
            )
            for each in self
        )

    def introduced(self, protocol: str) -> tuple[JoinedMember, ...]:
        """The members as the leader is told of them."""
        return tuple(
            JoinedMember(each.id, each.instance_id, each.metadata_for(protocol)) for each in self
        )

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, member_id: str) -> bool:
        return member_id in self.members

    def __iter__(self) -> Iterator[Member]:
        return iter(self.members.values())

    def add(self, member: Member) -> None:
        self.members[member.id] = member
        if self.leader is None:
            self.leader = member.id
        if member.instance_id is not None:
            self._ids_by_instance[member.instance_id] = member.id
        self.pending.pop(member.id, None)
        self._count(member, 1)

    def remove(self, member_id: str) -> None:
        """Removes a member whose parked requests the caller has answered."""
        member = self.members.pop(member_id)
        assert member_id not in self.joins, "a parked join would never be answered"
        assert member_id not in self.syncs, "a parked sync would never be answered"
        if member.instance_id is not None:
            del self._ids_by_instance[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self._count(member, -1)

    def replace(self, old_id: str, new_id: str) -> Member:
        """Gives a static member's place, and leadership if it had it, to its new incarnation."""
        member = self.members[old_id]
        self._count(member, -1)
        self.members = {
            (new_id if each == old_id else each): value for each, value in self.members.items()
        }
        member.id = new_id
        assert member.instance_id is not None, "only a static member can be replaced"
        self._ids_by_instance[member.instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        self._count(member, 1)
        return member

    def update(self, member: Member, request: JoinRequest) -> None:
        self._count(member, -1)
        member.client_id = request.client_id
        member.client_host = request.client_host
        member.session_timeout_ms = request.session_timeout_ms
        member.rebalance_timeout_ms = request.rebalance_timeout_ms
        member.protocols = request.protocols
        self._count(member, 1)

    def member_of(self, instance_id: str) -> str | None:
        return self._ids_by_instance.get(instance_id)

    def check(self, who: MemberIdentity) -> Member:
        """Returns the member; refuses unknown ids and static members that were replaced."""
        if who.instance_id is not None:
            holder = self._ids_by_instance.get(who.instance_id)
            if holder is None:
                raise UnknownMember(f"no member has the instance id {who.instance_id}")
            if holder != who.member_id:
                raise FencedInstanceId(f"the instance id {who.instance_id} is now {holder}")
        member = self.members.get(who.member_id)
        if member is None:
            raise UnknownMember(f"the group has no member {who.member_id!r}")
        return member

    @property
    def all_joined(self) -> bool:
        return len(self.joins) == len(self.members) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """Longest rebalance time-out of all members, which the whole group waits."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    def elect_joined_leader(self) -> bool:
        """Keeps the leader if it has joined, else takes the first that has; False if none has."""
        if self.leader not in self.joins:
            joined = next((each for each in self.members if each in self.joins), None)
            if joined is None:
                return False
            self.leader = joined
        return True

    def can_join_with(self, protocol_type: str, protocols: tuple[MemberProtocol, ...]) -> bool:
        """True if every member would still support some common protocol."""
        if not protocol_type or not protocols:
            return False
        if not self.members:
            return True
        return protocol_type == self.protocol_type and any(
            self._supporters[each.name] == len(self.members) for each in protocols
        )

    def vote(self) -> str | None:
        """The protocol that most members prefer among those that all support; the earliest of
        equals.

        None if no protocol is supported by all.
        """
        votes: Counter[str] = Counter()
        for member in self:
            for each in member.protocols:
                if self._supporters[each.name] == len(self.members):
                    votes[each.name] += 1
                    break
        return max(votes, key=votes.__getitem__, default=None)

    def _count(self, member: Member, sign: int) -> None:
        for name in {each.name for each in member.protocols}:
            self._supporters[name] += sign
            if not self._supporters[name]:
                del self._supporters[name]
        self.size_bytes += sign * member.size_bytes
