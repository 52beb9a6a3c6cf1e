"""Rebalance of a group: join, choose a protocol, assign, be stable.

Checks of single requests are in membership.py. Timers are deadlines: the caller asks
`next_deadline_ms` and calls `tick` then, or earlier.
"""

from collections.abc import Mapping

from duolog.core.groups.ledger import GroupMetadata, MetadataChanged
from duolog.core.groups.messages import Answer, Effect, JoinReply, SyncReply, Write
from duolog.core.groups.roster import Member, Roster
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState, Moment
from duolog.core.groups.subscription import CONSUMER_PROTOCOL, all_subscribed_topics
from duolog.model.errors import RebalanceInProgress, Refusal, UnknownMember


class Rebalance:
    def __init__(self, group_id: str, settings: GroupSettings) -> None:
        self._group_id = group_id
        self._settings = settings
        self.roster = Roster()
        self.state = GroupState.EMPTY
        self.since_ms: int | None = None
        """Wall-clock time at which the state was entered; None if unknown."""
        self.generation = 0
        self.protocol: str | None = None
        self.subscribed: frozenset[str] | None = None
        """Topics that the members of a consumer group read; None if unknown."""
        self._join_deadline_ms: int | None = None
        self._delay_ends_ms: int | None = None
        """Deadline up to which newcomers may prolong an initial rebalance; None in any other."""
        self._newcomers = False
        self._sync_deadline_ms: int | None = None
        self._unsynced: dict[str, None] = {}
        self._storing = False
        """True while this generation's assignment is being written."""
        self._alarm_ms: int | None = None

    @classmethod
    def restored(
        cls, group_id: str, settings: GroupSettings, metadata: GroupMetadata | None, now: Moment
    ) -> "Rebalance":
        """The group as the last durable metadata left it."""
        self = cls(group_id, settings)
        if metadata is not None:
            self.roster = Roster.restored(metadata, now.monotonic_ms)
            self.state = GroupState.STABLE if metadata.members else GroupState.EMPTY
            self.since_ms = metadata.state_timestamp_ms
            self.generation = metadata.generation
            self.protocol = metadata.protocol
            self._note_subscriptions()
            self._rearm()
        return self

    def next_deadline_ms(self) -> int | None:
        """Time of the next `tick`; may be early when deadlines have moved, never late."""
        return self._alarm_ms

    def touch(self, member: Member, now: Moment) -> None:
        """Restarts the session of a member that was heard from."""
        member.session_deadline_ms = now.monotonic_ms + member.session_timeout_ms
        self._arm(member.session_deadline_ms)

    def touch_all(self, now: Moment) -> None:
        for member in self.roster:
            self.touch(member, now)

    def expect(self, pending_id: str, until_ms: int) -> None:
        self.roster.pending[pending_id] = until_ms
        self._arm(until_ms)

    def add(self, member: Member) -> None:
        self.roster.add(member)
        self._newcomers = True
        self._arm(member.session_deadline_ms)

    def begin(self, now: Moment) -> list[Effect]:
        """Makes all members join again, unless a rebalance is already under way."""
        if self.state is GroupState.PREPARING_REBALANCE:
            return self.complete_if_joined(now)
        effects = self._refuse_syncs(now)
        self._end_sync_phase()
        was_empty = self.state is GroupState.EMPTY
        self._enter(GroupState.PREPARING_REBALANCE, now)
        patience_ms = self.roster.rebalance_timeout_ms
        delay_ms = min(self._settings.initial_rebalance_delay_ms, patience_ms)
        if was_empty and delay_ms > 0:
            self._newcomers = False
            self._delay_ends_ms = now.monotonic_ms + patience_ms
            self._join_until(now.monotonic_ms + delay_ms)
            return effects
        self._join_until(now.monotonic_ms + patience_ms)
        return effects + self.complete_if_joined(now)

    def complete_if_joined(self, now: Moment) -> list[Effect]:
        if (
            self.state is GroupState.PREPARING_REBALANCE
            and self._delay_ends_ms is None
            and self.roster.all_joined
        ):
            return self._complete_join(now)
        return []

    def remove(self, member_ids: list[str], now: Moment) -> list[Effect]:
        """Removes members and lets the others share their partitions."""
        effects: list[Effect] = []
        for member_id in member_ids:
            gone = UnknownMember("the member was removed from the group")
            for parked in (self.roster.joins, self.roster.syncs):
                ticket = parked.pop(member_id, None)
                if ticket is not None:
                    effects.append(Answer(ticket, gone))
            self.roster.remove(member_id)
            self._unsynced.pop(member_id, None)
        return effects + self.begin(now)

    def replaced(self, old_id: str, new_id: str) -> None:
        """Moves the pending sync of a static member to its new id."""
        if old_id in self._unsynced:
            del self._unsynced[old_id]
            self._unsynced[new_id] = None

    def synced(self, member_id: str) -> None:
        self._unsynced.pop(member_id, None)
        if not self._unsynced:
            self._sync_deadline_ms = None

    def assign(self, assignments: Mapping[str, bytes], now: Moment) -> list[Effect]:
        """Stores the leader's assignment; it takes effect and is answered once durable."""
        assert self.state is GroupState.COMPLETING_REBALANCE
        if self._storing:
            # The leader asks again. A second record could differ from the one that the members are
            # about to receive.
            return []
        self._storing = True
        return [Write((self.record(now, assignments),))]

    def assigned(self, metadata: GroupMetadata, now: Moment) -> list[Effect]:
        """Applies metadata that became durable, if the group is still waiting for it."""
        if (
            self.state is not GroupState.COMPLETING_REBALANCE
            or metadata.generation != self.generation
        ):
            return []
        for recorded in metadata.members:
            self.roster.members[recorded.id].assignment = recorded.assignment
        self._enter(GroupState.STABLE, now)
        effects: list[Effect] = []
        for member_id, ticket in self.roster.syncs.items():
            member = self.roster.members[member_id]
            effects.append(Answer(ticket, self.sync_reply(member)))
            self.touch(member, now)
        self.roster.syncs.clear()
        return effects

    def record(
        self, now: Moment, assignments: Mapping[str, bytes] | None = None
    ) -> MetadataChanged:
        """The group's metadata for the log, with new assignments or the present ones."""
        return MetadataChanged(
            self._group_id,
            GroupMetadata(
                protocol_type=self.roster.protocol_type or "",
                generation=self.generation,
                protocol=self.protocol,
                leader=self.roster.leader,
                state_timestamp_ms=now.wall_ms if self.since_ms is None else self.since_ms,
                members=self.roster.recorded(self.protocol, assignments),
            ),
        )

    def join_reply(self, member: Member) -> JoinReply:
        leader = self.roster.leader
        assert leader is not None
        assert self.protocol is not None
        return JoinReply(
            member_id=member.id,
            generation=self.generation,
            protocol_type=self.roster.protocol_type or "",
            protocol=self.protocol,
            leader=leader,
            members=self.roster.introduced(self.protocol) if member.id == leader else (),
        )

    def sync_reply(self, member: Member) -> SyncReply:
        return SyncReply(self.roster.protocol_type or "", self.protocol or "", member.assignment)

    def refuse_parked(self, refusal: Refusal) -> list[Effect]:
        """Refuses all parked requests, before what they wait for is given up."""
        tickets = (*self.roster.syncs.values(), *self.roster.joins.values())
        return [Answer(ticket, refusal) for ticket in tickets]

    def tick(self, now: Moment) -> list[Effect]:
        now_ms = now.monotonic_ms
        effects: list[Effect] = []
        pending = self.roster.pending
        late = [each for each, until_ms in pending.items() if until_ms <= now_ms]
        for member_id in late:
            del pending[member_id]
        if late:
            effects += self.complete_if_joined(now)
        expired = [each.id for each in self._expiring() if each.session_deadline_ms <= now_ms]
        if expired:
            effects += self.remove(expired, now)
        if self._join_deadline_ms is not None and self._join_deadline_ms <= now_ms:
            effects += self._join_time_over(now)
        if self._sync_deadline_ms is not None and self._sync_deadline_ms <= now_ms:
            effects += self.remove(list(self._unsynced), now)
        self._rearm()
        return effects

    def _join_time_over(self, now: Moment) -> list[Effect]:
        now_ms = now.monotonic_ms
        if self._delay_ends_ms is not None and self._newcomers and now_ms < self._delay_ends_ms:
            self._newcomers = False
            delay_ms = self._settings.initial_rebalance_delay_ms
            self._join_until(min(now_ms + delay_ms, self._delay_ends_ms))
            return []
        return self._complete_join(now)

    def _complete_join(self, now: Moment) -> list[Effect]:
        self._delay_ends_ms = None
        # A missing static member may be restarting: it keeps its place until its session ends, as
        # in Kafka.
        for member in [each for each in self.roster if each.instance_id is None]:
            if member.id not in self.roster.joins:
                self.roster.remove(member.id)
        if self.roster.members and not self.roster.elect_joined_leader():
            self._join_until(now.monotonic_ms + self.roster.rebalance_timeout_ms)
            return []
        self._join_deadline_ms = None
        self._storing = False
        self.generation += 1
        if not self.roster.members:
            self.protocol = None
            self._enter(GroupState.EMPTY, now)
            self._note_subscriptions()
            return [Write((self.record(now),))]
        self.protocol = self.roster.vote()
        self._enter(GroupState.COMPLETING_REBALANCE, now)
        self._note_subscriptions()
        return self._answer_joins(now)

    def _answer_joins(self, now: Moment) -> list[Effect]:
        self._sync_deadline_ms = now.monotonic_ms + self.roster.rebalance_timeout_ms
        self._arm(self._sync_deadline_ms)
        effects: list[Effect] = []
        for member in self.roster:
            self._unsynced[member.id] = None
            # The old assignment belongs to the generation before; nobody may receive it again.
            member.assignment = b""
            ticket = self.roster.joins.pop(member.id, None)
            if ticket is None:
                continue
            effects.append(Answer(ticket, self.join_reply(member)))
            member.is_new = False
            self.touch(member, now)
        return effects

    def _refuse_syncs(self, now: Moment) -> list[Effect]:
        effects: list[Effect] = []
        for member_id, ticket in self.roster.syncs.items():
            refusal = RebalanceInProgress("the group is rebalancing; join again")
            effects.append(Answer(ticket, refusal))
            # The session may have run out while the member waited for our answer.
            self.touch(self.roster.members[member_id], now)
        self.roster.syncs.clear()
        return effects

    def _end_sync_phase(self) -> None:
        self._unsynced.clear()
        self._sync_deadline_ms = None

    def _expiring(self) -> list[Member]:
        """Members whose sessions run: those parked for our own answer must not lose their place."""
        return [
            each
            for each in self.roster
            if each.id not in self.roster.syncs
            and (each.is_new or each.id not in self.roster.joins)
        ]

    def _enter(self, state: GroupState, now: Moment) -> None:
        self.state = state
        self.since_ms = now.wall_ms

    def _note_subscriptions(self) -> None:
        if self.roster.protocol_type == CONSUMER_PROTOCOL:
            self.subscribed = all_subscribed_topics(
                each.metadata_for(self.protocol) for each in self.roster
            )
        else:
            self.subscribed = None

    def _join_until(self, deadline_ms: int) -> None:
        self._join_deadline_ms = deadline_ms
        self._arm(deadline_ms)

    def _arm(self, deadline_ms: int) -> None:
        if self._alarm_ms is None or deadline_ms < self._alarm_ms:
            self._alarm_ms = deadline_ms

    def _rearm(self) -> None:
        deadlines = [each.session_deadline_ms for each in self._expiring()]
        deadlines += self.roster.pending.values()
        for phase_ms in (self._join_deadline_ms, self._sync_deadline_ms):
            if phase_ms is not None:
                deadlines.append(phase_ms)
        self._alarm_ms = min(deadlines, default=None)
