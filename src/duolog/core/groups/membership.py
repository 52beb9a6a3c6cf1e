"""Requests of members: join, sync, heartbeat, leave; and the check before a commit.

Each request is checked here against Kafka's classic protocol; the consequences for the group are in
rebalance.py.
"""

from typing import NoReturn

from duolog.core.groups.bounds import check_assignments, check_group_bytes, check_join
from duolog.core.groups.messages import (
    NO_GENERATION,
    UNKNOWN_MEMBER_ID,
    Answer,
    Effect,
    JoinReply,
    JoinRequest,
    MemberIdentity,
    SyncRequest,
    Ticket,
    Write,
)
from duolog.core.groups.rebalance import Rebalance
from duolog.core.groups.roster import Member
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState, Moment
from duolog.core.groups.subscription import same_subscription
from duolog.model.errors import (
    FencedInstanceId,
    GroupMaxSizeReached,
    IllegalGeneration,
    InconsistentGroupProtocol,
    MemberIdRequired,
    RebalanceInProgress,
    Refusal,
    UnknownMember,
)


class Membership:
    def __init__(self, settings: GroupSettings, rebalance: Rebalance) -> None:
        self._settings = settings
        self._rebalance = rebalance

    def join(self, request: JoinRequest, ticket: Ticket, now: Moment) -> list[Effect]:
        roster = self._rebalance.roster
        check_join(request, self._settings)
        if not self._has_room_for(request.member_id):
            refusal = Answer(ticket, GroupMaxSizeReached("the group has the most members allowed"))
            if request.member_id in roster:
                return [refusal, *self._rebalance.remove([request.member_id], now)]
            return [refusal]
        check_group_bytes(roster, request, self._settings)
        if not roster.can_join_with(request.protocol_type, request.protocols):
            raise InconsistentGroupProtocol("no assignment protocol that all members support")
        if request.member_id == UNKNOWN_MEMBER_ID:
            return self._join_unknown(request, ticket, now)
        if request.member_id in roster.pending:
            if request.instance_id is not None:
                # That id was given to a dynamic member; a static one has a place of its own.
                raise UnknownMember(f"{request.member_id!r} was not given to a static member")
            return self._add(request, request.member_id, ticket, now)
        member = roster.check(MemberIdentity(request.member_id, request.instance_id))
        return self._rejoin(member, request, ticket, now)

    def sync(self, request: SyncRequest, ticket: Ticket, now: Moment) -> list[Effect]:
        rebalance, roster = self._rebalance, self._rebalance.roster
        member = roster.check(request.identity)
        self._check_generation(request.generation)
        for said, agreed in (
            (request.protocol_type, roster.protocol_type),
            (request.protocol, rebalance.protocol),
        ):
            if said is not None and said != agreed:
                raise InconsistentGroupProtocol(f"the group agreed on {agreed}, not on {said}")
        if rebalance.state is GroupState.PREPARING_REBALANCE:
            self._refuse_during_rebalance()
        if rebalance.state is GroupState.STABLE:
            rebalance.synced(member.id)
            rebalance.touch(member, now)
            return [Answer(ticket, rebalance.sync_reply(member))]
        is_leader = member.id == roster.leader
        if is_leader:
            check_assignments(request.assignments, self._settings)
        rebalance.synced(member.id)
        effects = self._answer_older(roster.syncs.pop(member.id, None))
        roster.syncs[member.id] = ticket
        return effects + (rebalance.assign(request.assignments, now) if is_leader else [])

    def heartbeat(self, who: MemberIdentity, generation: int, now: Moment) -> None:
        """Renews the session, also of a member that is told to rejoin: it needs the time to do
        so."""
        member = self._rebalance.roster.check(who)
        self._check_generation(generation)
        self._rebalance.touch(member, now)
        if self._rebalance.state is GroupState.PREPARING_REBALANCE:
            self._refuse_during_rebalance()

    def leave(
        self, leaving: list[MemberIdentity], now: Moment
    ) -> tuple[list[Refusal | None], list[Effect]]:
        """One result per leaver; those that may leave do so together."""
        roster = self._rebalance.roster
        results: list[Refusal | None] = []
        members: dict[str, None] = {}
        pending_left = False
        for who in leaving:
            try:
                if who.member_id in roster.pending:
                    del roster.pending[who.member_id]
                    pending_left = True
                else:
                    members[self._leaver(who).id] = None
                results.append(None)
            except (UnknownMember, FencedInstanceId) as refusal:
                results.append(refusal)
        if members:
            return results, self._rebalance.remove(list(members), now)
        return results, self._rebalance.complete_if_joined(now) if pending_left else []

    def check_commit(self, who: MemberIdentity, generation: int, now: Moment) -> None:
        rebalance = self._rebalance
        if generation <= NO_GENERATION and rebalance.state is GroupState.EMPTY:
            # A tool, or a consumer that assigns its own partitions: it overwrites nobody's offsets.
            return
        member = rebalance.roster.check(who)
        self._check_generation(generation)
        if rebalance.state is GroupState.COMPLETING_REBALANCE:
            self._refuse_during_rebalance()
        rebalance.touch(member, now)

    def _join_unknown(self, request: JoinRequest, ticket: Ticket, now: Moment) -> list[Effect]:
        roster = self._rebalance.roster
        if request.instance_id is not None:
            old_id = roster.member_of(request.instance_id)
            if old_id is not None:
                return self._replace(old_id, request, ticket, now)
        elif request.knows_id_handshake:
            if len(roster.pending) >= self._settings.group_size_max:
                raise GroupMaxSizeReached("too many members are about to join")
            # With an id of its own the client can retry after a lost answer without leaving a
            # second, dead member behind.
            until_ms = now.monotonic_ms + request.session_timeout_ms
            self._rebalance.expect(request.fresh_member_id, until_ms)
            return [Answer(ticket, MemberIdRequired(request.fresh_member_id))]
        return self._add(request, request.fresh_member_id, ticket, now)

    def _add(
        self, request: JoinRequest, member_id: str, ticket: Ticket, now: Moment
    ) -> list[Effect]:
        rebalance, roster = self._rebalance, self._rebalance.roster
        member = Member(
            id=member_id,
            instance_id=request.instance_id,
            client_id=request.client_id,
            client_host=request.client_host,
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            protocols=request.protocols,
            session_deadline_ms=now.monotonic_ms + self._settings.new_member_join_timeout_ms,
            is_new=True,
        )
        if not roster.members:
            roster.protocol_type = request.protocol_type
        rebalance.add(member)
        roster.joins[member_id] = ticket
        return rebalance.begin(now)

    def _rejoin(
        self, member: Member, request: JoinRequest, ticket: Ticket, now: Moment
    ) -> list[Effect]:
        rebalance = self._rebalance
        unchanged = member.protocols == request.protocols
        is_leader = member.id == rebalance.roster.leader
        if unchanged and (
            rebalance.state is GroupState.COMPLETING_REBALANCE
            or (rebalance.state is GroupState.STABLE and not is_leader)
        ):
            # The answer was lost. The leader of a stable group that rejoins wants to assign anew,
            # though: it saw topics change.
            return [Answer(ticket, rebalance.join_reply(member))]
        return self._update(member, request, ticket, now)

    def _update(
        self, member: Member, request: JoinRequest, ticket: Ticket, now: Moment
    ) -> list[Effect]:
        self._rebalance.roster.update(member, request)
        joins = self._rebalance.roster.joins
        effects = self._answer_older(joins.pop(member.id, None))
        joins[member.id] = ticket
        return effects + self._rebalance.begin(now)

    def _replace(
        self, old_id: str, request: JoinRequest, ticket: Ticket, now: Moment
    ) -> list[Effect]:
        """A restarted static member takes the place of its former incarnation."""
        rebalance, roster = self._rebalance, self._rebalance.roster
        effects: list[Effect] = []
        for parked in (roster.joins, roster.syncs):
            older = parked.pop(old_id, None)
            if older is not None:
                fenced = FencedInstanceId(f"the instance id {request.instance_id} joined again")
                effects.append(Answer(older, fenced))
        former_leader = roster.leader
        member = roster.replace(old_id, request.fresh_member_id)
        rebalance.replaced(old_id, member.id)
        had = member.metadata_for(rebalance.protocol)
        roster.update(member, request)
        rebalance.touch(member, now)
        if (
            rebalance.state is GroupState.STABLE
            and roster.vote() == rebalance.protocol
            and same_subscription(
                request.protocol_type, had, member.metadata_for(rebalance.protocol)
            )
        ):
            reply = self._replacement_reply(member, request, former_leader)
            return [*effects, Write((rebalance.record(now),), (Answer(ticket, reply),))]
        # A leader that is assigning at this moment knows only the old id, so in every other state
        # the group has to join again.
        roster.joins[member.id] = ticket
        return effects + rebalance.begin(now)

    def _replacement_reply(
        self, member: Member, request: JoinRequest, former_leader: str | None
    ) -> JoinReply:
        reply = self._rebalance.join_reply(member)
        is_leader = reply.leader == member.id
        return JoinReply(
            member_id=member.id,
            generation=reply.generation,
            protocol_type=reply.protocol_type,
            protocol=reply.protocol,
            # A client that cannot be told to skip the assignment must not take itself for
            # the leader, or it would assign in the middle of a generation.
            leader=reply.leader if request.knows_skip_assignment else former_leader or "",
            members=reply.members if request.knows_skip_assignment else (),
            skip_assignment=is_leader and request.knows_skip_assignment,
        )

    def _leaver(self, who: MemberIdentity) -> Member:
        roster = self._rebalance.roster
        if who.member_id == UNKNOWN_MEMBER_ID and who.instance_id is not None:
            # An operator removes a static member by its instance id, the only name that he knows.
            holder = roster.member_of(who.instance_id)
            if holder is not None:
                return roster.members[holder]
        return roster.check(who)

    def _has_room_for(self, member_id: str) -> bool:
        roster, size_max = self._rebalance.roster, self._settings.group_size_max
        match self._rebalance.state:
            case GroupState.PREPARING_REBALANCE:
                # Counting only those that have joined lets a group that became too large shrink.
                return member_id in roster.joins or len(roster.joins) < size_max
            case GroupState.COMPLETING_REBALANCE | GroupState.STABLE:
                return member_id in roster or len(roster) < size_max
            case _:
                return True

    def _check_generation(self, generation: int) -> None:
        if generation != self._rebalance.generation:
            raise IllegalGeneration(
                f"the group is at generation {self._rebalance.generation}, not {generation}"
            )

    def _refuse_during_rebalance(self) -> NoReturn:
        raise RebalanceInProgress("the group is rebalancing; join again")

    def _answer_older(self, older: Ticket | None) -> list[Effect]:
        """Refuses an older parked request of the same member: its sender has given up on it."""
        if older is None:
            return []
        return [Answer(older, RebalanceInProgress("the request was sent again"))]
