"""One consumer group: its members and its offsets, driven by broker/groups/coordinator.py.

Every event returns effects. What has to survive a restart is in the ledger, which follows
the records just written and nothing else; a write that fails takes the members back to it.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from duolog.core.groups.ledger import (
    CommittedOffset,
    GroupForgotten,
    GroupRecord,
    Ledger,
    MetadataChanged,
    OffsetCommitted,
    OffsetForgotten,
    TopicPartition,
)
from duolog.core.groups.membership import Membership
from duolog.core.groups.messages import (
    Answer,
    CommitRequest,
    Effect,
    JoinRequest,
    MemberIdentity,
    Outcome,
    SyncRequest,
    Ticket,
    Write,
)
from duolog.core.groups.rebalance import Rebalance
from duolog.core.groups.retention import expired_offsets
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import GroupState, Moment
from duolog.core.groups.subscription import CONSUMER_PROTOCOL
from duolog.model.errors import (
    CoordinatorNotAvailable,
    GroupNotEmpty,
    GroupSubscribedToTopic,
    OffsetMetadataTooLarge,
    Refusal,
)


@dataclass(frozen=True, slots=True)
class DescribedMember:
    id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class Group:
    def __init__(self, group_id: str, settings: GroupSettings) -> None:
        self.id = group_id
        self._settings = settings
        self._ledger = Ledger()
        self._rebalance = Rebalance(group_id, settings)
        self._membership = Membership(settings, self._rebalance)
        self._in_flight: deque[Write] = deque()
        """Writes that are not durable yet, oldest first."""

    @property
    def state(self) -> GroupState:
        return self._rebalance.state

    @property
    def is_rebalancing(self) -> bool:
        """True while members join or wait for their assignment."""
        return self.state in (GroupState.PREPARING_REBALANCE, GroupState.COMPLETING_REBALANCE)

    @property
    def generation(self) -> int:
        return self._rebalance.generation

    @property
    def protocol_type(self) -> str:
        return self._rebalance.roster.protocol_type or ""

    @property
    def protocol(self) -> str:
        """The agreed assignment protocol; empty unless the group is stable."""
        return self._rebalance.protocol or "" if self.state is GroupState.STABLE else ""

    @property
    def ledger(self) -> Ledger:
        """Durable state, for reading only; it changes only by replaying written records."""
        return self._ledger

    @property
    def is_forgettable(self) -> bool:
        """True if nothing would be lost by making the group anew when it is next named."""
        return (
            self.state is GroupState.EMPTY
            and self._ledger.is_blank
            and not self._rebalance.roster.pending
            and not self._in_flight
        )

    def next_deadline_ms(self) -> int | None:
        return self._rebalance.next_deadline_ms()

    def replay(self, record: GroupRecord) -> None:
        """Replays a record read at start; `loaded` then restores the members."""
        self._ledger.replay(record)

    def loaded(self, now: Moment) -> None:
        self._rebalance = Rebalance.restored(self.id, self._settings, self._ledger.metadata, now)
        self._membership = Membership(self._settings, self._rebalance)

    def join(self, request: JoinRequest, ticket: Ticket, now: Moment) -> list[Effect]:
        return self._noted(self._membership.join(request, ticket, now))

    def sync(self, request: SyncRequest, ticket: Ticket, now: Moment) -> list[Effect]:
        return self._noted(self._membership.sync(request, ticket, now))

    def heartbeat(self, who: MemberIdentity, generation: int, now: Moment) -> None:
        self._membership.heartbeat(who, generation, now)

    def heard_of_all(self, now: Moment) -> None:
        """Gives every member a full session, after none could be heard."""
        self._rebalance.touch_all(now)

    def leave(
        self, leaving: list[MemberIdentity], now: Moment
    ) -> tuple[list[Refusal | None], list[Effect]]:
        results, effects = self._membership.leave(leaving, now)
        return results, self._noted(effects)

    def tick(self, now: Moment) -> list[Effect]:
        return self._noted(self._rebalance.tick(now))

    def commit(self, request: CommitRequest, ticket: Ticket, now: Moment) -> list[Effect]:
        self._membership.check_commit(request.identity, request.generation, now)
        refused: dict[TopicPartition, Refusal] = {}
        records: list[GroupRecord] = []
        expire_ms = None if request.retention_ms is None else now.wall_ms + request.retention_ms
        for at, each in request.offsets.items():
            if len(each.metadata.encode()) > self._settings.offset_metadata_bytes_max:
                refused[at] = OffsetMetadataTooLarge(
                    f"at most {self._settings.offset_metadata_bytes_max} bytes beside an offset"
                )
                continue
            committed = CommittedOffset(
                each.offset, each.leader_epoch, each.metadata, now.wall_ms, expire_ms
            )
            records.append(OffsetCommitted(self.id, at, committed))
        return self._write(records, Answer(ticket, Outcome(refused)))

    def delete_offsets(self, named: Iterable[TopicPartition], ticket: Ticket) -> list[Effect]:
        alive = self.state is not GroupState.EMPTY
        if alive and self.protocol_type != CONSUMER_PROTOCOL:
            raise GroupNotEmpty("the group has members, and their subscriptions are unknown")
        refused: dict[TopicPartition, Refusal] = {}
        records: list[GroupRecord] = []
        subscribed = self._rebalance.subscribed
        known = self._known_offsets()
        for at in named:
            if alive and (subscribed is None or at.topic in subscribed):
                refused[at] = GroupSubscribedToTopic(f"the group reads {at.topic}")
            elif at in known:
                records.append(OffsetForgotten(self.id, at))
        return self._write(records, Answer(ticket, Outcome(refused)))

    def delete(self, ticket: Ticket) -> list[Effect]:
        if self.state is not GroupState.EMPTY:
            raise GroupNotEmpty("the group still has members")
        return self._write(self._forget_all(), Answer(ticket, Outcome()))

    def topic_deleted(self, topic: str) -> list[Effect]:
        return self._write(
            [OffsetForgotten(self.id, at) for at in self._known_offsets() if at.topic == topic]
        )

    def expire(self, now: Moment) -> list[Effect]:
        """Forgets offsets past their retention, and the group with the last one."""
        if self._in_flight:
            # A commit that is being written may renew what looks old here.
            return []
        expired = list(
            expired_offsets(
                self._ledger,
                self._rebalance,
                now_ms=now.wall_ms,
                retention_ms=self._settings.offsets_retention_ms,
            )
        )
        if (
            self.state is GroupState.EMPTY
            and not self._rebalance.roster.pending
            and len(expired) == len(self._ledger.offsets)
        ):
            return self._write(self._forget_all())
        return self._write([OffsetForgotten(self.id, at) for at in expired])

    def written(self, write: Write, now: Moment) -> list[Effect]:
        """Applies records that are now durable; called in the order of the writes."""
        self._landed(write)
        effects: list[Effect] = []
        for record in write.records:
            self._ledger.replay(record)
            if isinstance(record, MetadataChanged):
                effects += self._rebalance.assigned(record.metadata, now)
        return [*effects, *write.answers]

    def write_failed(self, write: Write, now: Moment) -> list[Effect]:
        """Restores the last durable state: the failed records may or may not be on disk."""
        self._landed(write)
        refusal = CoordinatorNotAvailable("the group's records could not be written")
        effects: list[Effect] = [Answer(each.ticket, refusal) for each in write.answers]
        effects += self._rebalance.refuse_parked(refusal)
        self.loaded(now)
        return effects

    def describe_members(self) -> list[DescribedMember]:
        """Members; metadata and assignments are shown only while the group is stable."""
        stable = self.state is GroupState.STABLE
        return [
            DescribedMember(
                id=each.id,
                instance_id=each.instance_id,
                client_id=each.client_id,
                client_host=each.client_host,
                metadata=each.metadata_for(self._rebalance.protocol) if stable else b"",
                assignment=each.assignment if stable else b"",
            )
            for each in self._rebalance.roster
        ]

    def _known_offsets(self) -> dict[TopicPartition, None]:
        """Offsets committed or being committed: a deletion is written after both."""
        known = dict.fromkeys(self._ledger.offsets)
        for write in self._in_flight:
            known |= {each.at: None for each in write.records if isinstance(each, OffsetCommitted)}
        return known

    def _forget_all(self) -> list[GroupRecord]:
        records: list[GroupRecord] = [OffsetForgotten(self.id, at) for at in self._known_offsets()]
        written = (record for write in self._in_flight for record in write.records)
        if self._ledger.metadata is not None or any(
            isinstance(record, MetadataChanged) for record in written
        ):
            records.append(GroupForgotten(self.id))
        return records

    def _write(self, records: Sequence[GroupRecord], *answers: Answer) -> list[Effect]:
        if not records:
            return list(answers)
        return self._noted([Write(tuple(records), answers)])

    def _noted(self, effects: list[Effect]) -> list[Effect]:
        self._in_flight += (each for each in effects if isinstance(each, Write))
        return effects

    def _landed(self, write: Write) -> None:
        first = self._in_flight.popleft()
        assert first is write, "writes end in the order in which they were decided"
