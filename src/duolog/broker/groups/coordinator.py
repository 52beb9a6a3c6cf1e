"""Serves consumer groups: finds the group, asks it, performs what it decides.

The decisions are in core/groups/group.py. Here are only the things that a decision cannot
have: the clock, the requests that wait, the timer, and the writes.
"""

import uuid
from collections.abc import Callable, Collection, Container, Iterable
from typing import assert_never

from duolog.broker.groups.alarm import Alarm
from duolog.broker.groups.deadlines import Deadlines
from duolog.broker.groups.offset_store import OffsetStore
from duolog.broker.groups.parking import Parking
from duolog.broker.groups.writer import GroupWriter
from duolog.core.groups.formats import UnreadableRecord, decode
from duolog.core.groups.group import Group
from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import (
    NO_GENERATION,
    UNKNOWN_MEMBER_ID,
    Answer,
    CommitRequest,
    Effect,
    JoinReply,
    JoinRequest,
    MemberIdentity,
    Outcome,
    Reply,
    SyncReply,
    SyncRequest,
    Ticket,
    Write,
)
from duolog.core.groups.placement import partition_for
from duolog.core.groups.settings import GroupSettings
from duolog.core.groups.state import Moment
from duolog.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    GroupIdNotFound,
    InvalidGroupId,
    PolicyViolation,
    Refusal,
    UnknownMember,
)
from duolog.model.limits import CLIENT_ID_CHARS_IN_MEMBER_ID_MAX, GROUP_TEXT_BYTES_MAX
from duolog.observe.logs import get_logger
from duolog.ports.clock import Clock

log = get_logger("groups")


class GroupCoordinator:
    def __init__(
        self,
        clock: Clock,
        store: OffsetStore,
        settings: GroupSettings,
        *,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self._clock = clock
        self._store = store
        self._settings = settings
        self._new_id = new_id
        self._groups: dict[str, Group] = {}
        self._writer = GroupWriter(store, self, settings.writes_queued_max)
        self._deadlines = Deadlines()
        self._expiry_due_ms = 0
        self._alarm = Alarm(clock, self.tick)
        self._parking = Parking()
        self._closed: Refusal | None = CoordinatorLoading("the groups are being read")

    async def start(self, topics: Container[str]) -> None:
        """Read the groups. Offsets of topics that are gone are forgotten.

        `topics` is asked when everything is read, so it may be a live view.
        """
        async for stored in self._store.load():
            try:
                record = decode(stored.key, stored.value)
            except UnreadableRecord as error:
                log.warning("group record skipped", partition=stored.partition, error=str(error))
                continue
            if record.group_id not in self._groups:
                self._groups[record.group_id] = Group(record.group_id, self._settings)
            self._groups[record.group_id].replay(record)
        now = self._now()
        self._closed = None
        self._expiry_due_ms = now.monotonic_ms + self._settings.offsets_retention_check_interval_ms
        for group in list(self._groups.values()):
            group.loaded(now)
            self._settle(group)
        committed = {at.topic for group in self._groups.values() for at in group.ledger.offsets}
        for topic in sorted(committed):
            if topic not in topics:
                await self.topic_deleted(topic)
        self._set_alarm()
        log.info("groups read", groups=len(self._groups))

    async def stop(self) -> None:
        """Let the writes under way end, then turn away those who wait for something else."""
        self._closed = CoordinatorNotAvailable("the coordinator is shutting down")
        self._alarm.cancel()
        await self._writer.settled()
        self._parking.refuse_all(self._closed)

    def fresh_member_id(self, client_id: str, instance_id: str | None) -> str:
        """Starts with what an operator knows the member by, as Kafka's do."""
        name = instance_id or client_id
        return f"{name[:CLIENT_ID_CHARS_IN_MEMBER_ID_MAX]}-{self._new_id()}"

    async def join(self, group_id: str, request: JoinRequest) -> JoinReply:
        _check_managed(group_id)
        group = self.find(group_id)
        if group is None:
            if request.member_id != UNKNOWN_MEMBER_ID:
                raise UnknownMember(f"there is no group {group_id}")
            group = self._create(group_id)
        reply = await self._ask(group, lambda ticket: group.join(request, ticket, self._now()))
        assert isinstance(reply, JoinReply)
        return reply

    async def sync(self, group_id: str, request: SyncRequest) -> SyncReply:
        group = self._find_managed(group_id)
        reply = await self._ask(group, lambda ticket: group.sync(request, ticket, self._now()))
        assert isinstance(reply, SyncReply)
        return reply

    def heartbeat(self, group_id: str, who: MemberIdentity, generation: int) -> None:
        self._find_managed(group_id).heartbeat(who, generation, self._now())

    def leave(self, group_id: str, leaving: list[MemberIdentity]) -> list[Refusal | None]:
        """One result for each who wants to leave."""
        _check_managed(group_id)
        group = self.find(group_id)
        if group is None:
            return [UnknownMember(f"there is no group {group_id}") for _ in leaving]
        results, effects = group.leave(leaving, self._now())
        self._perform(group, effects)
        return results

    async def commit(self, group_id: str, request: CommitRequest) -> Outcome:
        """Returns once the offsets are durable; tells which of them were refused."""
        group = self.find(group_id)
        self._writer.check_room(self._partition_of(group_id))
        if group is None:
            if request.generation > NO_GENERATION:
                raise GroupIdNotFound(f"there is no group {group_id}")
            group = self._create(group_id)
        reply = await self._ask(group, lambda ticket: group.commit(request, ticket, self._now()))
        assert isinstance(reply, Outcome)
        return reply

    async def delete_offsets(self, group_id: str, named: Iterable[TopicPartition]) -> Outcome:
        group = self.get(group_id)
        self._writer.check_room(self._partition_of(group_id))
        reply = await self._ask(group, lambda ticket: group.delete_offsets(named, ticket))
        assert isinstance(reply, Outcome)
        return reply

    async def delete(self, group_id: str) -> None:
        group = self.get(group_id)
        await self._ask(group, group.delete)

    async def topic_deleted(self, topic: str) -> None:
        """Forget what was committed for the topic.

        Not waited for: the catalog waits for us here, and a write may be waiting for the
        catalog. What a crash prevents is made up for at the next start.
        """
        for group in list(self._groups.values()) if self._closed is None else ():
            self._perform(group, group.topic_deleted(topic))

    def find(self, group_id: str) -> Group | None:
        """To read; only the coordinator tells a group anything."""
        self._check_open()
        return self._groups.get(group_id)

    def get(self, group_id: str) -> Group:
        group = self.find(group_id)
        if group is None:
            raise GroupIdNotFound(f"there is no group {group_id}")
        return group

    @property
    def groups(self) -> Collection[Group]:
        self._check_open()
        return self._groups.values()

    def tick(self) -> None:
        """Do what is due. The alarm calls this."""
        now = self._now()
        for group_id in list(self._deadlines.take_due(now.monotonic_ms)):
            group = self._groups[group_id]
            self._perform(group, group.tick(now))
        if now.monotonic_ms >= self._expiry_due_ms:
            interval_ms = self._settings.offsets_retention_check_interval_ms
            self._expiry_due_ms = now.monotonic_ms + interval_ms
            for group in list(self._groups.values()):
                self._perform(group, group.expire(now))
        self._set_alarm()

    def written(self, group_id: str, write: Write) -> None:
        group = self._groups[group_id]
        self._perform(group, group.written(write, self._now()))

    def write_failed(self, group_id: str, write: Write) -> None:
        group = self._groups[group_id]
        self._perform(group, group.write_failed(write, self._now()))

    async def _ask(self, group: Group, decide: Callable[[Ticket], list[Effect]]) -> Reply:
        """The group's answer, whenever it comes."""
        with self._parking.ticket() as (ticket, answered):
            try:
                effects = decide(ticket)
            except Refusal:
                self._settle(group)
                raise
            self._perform(group, effects)
            reply = await answered
        if isinstance(reply, Refusal):
            raise reply
        return reply

    def _perform(self, group: Group, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Answer():
                    self._parking.answer(effect)
                case Write():
                    self._writer.submit(self._partition_of(group.id), group.id, effect)
                case _:
                    assert_never(effect)
        self._settle(group)

    def _settle(self, group: Group) -> None:
        """After each event: forget the group if nothing is left of it, else see to its time."""
        if group.is_forgettable:
            del self._groups[group.id]
            self._deadlines.clear(group.id)
            return
        deadline_ms = group.next_deadline_ms()
        if deadline_ms is not None:
            self._deadlines.set(group.id, deadline_ms)
            self._set_alarm()

    def _set_alarm(self) -> None:
        if self._closed is None:
            first_ms = self._deadlines.first_ms()
            self._alarm.set(
                self._expiry_due_ms if first_ms is None else min(first_ms, self._expiry_due_ms)
            )

    def _check_open(self) -> None:
        if self._closed is not None:
            raise self._closed

    def _find_managed(self, group_id: str) -> Group:
        _check_managed(group_id)
        group = self.find(group_id)
        if group is None:
            raise UnknownMember(f"there is no group {group_id}")
        return group

    def _create(self, group_id: str) -> Group:
        if len(group_id.encode()) > GROUP_TEXT_BYTES_MAX:
            raise InvalidGroupId(f"a group id has at most {GROUP_TEXT_BYTES_MAX} bytes")
        if len(self._groups) >= self._settings.groups_max:
            raise PolicyViolation(f"there are {self._settings.groups_max} groups already")
        group = self._groups[group_id] = Group(group_id, self._settings)
        return group

    def _partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self._store.partitions)

    def _now(self) -> Moment:
        return Moment(self._clock.monotonic_ms(), self._clock.now_ms())


def _check_managed(group_id: str) -> None:
    """Offsets can be kept under the empty id, as in Kafka; members cannot."""
    if not group_id:
        raise InvalidGroupId("a group with members needs an id")
