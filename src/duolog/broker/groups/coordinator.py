"""Coordinates consumer groups: finds the group, asks it, performs its decisions.

core/groups/group.py decides. Each group belongs to a partition of the offsets topic; this node
coordinates the groups of the partitions that it leads, with one shard per partition.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Collection, Container, Iterable
from typing import TYPE_CHECKING

from duolog.broker.admission import Admission
from duolog.broker.groups.kept_records import KeptRecords
from duolog.broker.groups.offset_store import OffsetStore, Tenure
from duolog.broker.groups.read_ahead import ReadAhead
from duolog.broker.groups.shard import GroupShard
from duolog.core.groups.group import Group
from duolog.core.groups.ledger import TopicPartition
from duolog.core.groups.messages import (
    NO_GENERATION,
    UNKNOWN_MEMBER_ID,
    CommitRequest,
    JoinReply,
    JoinRequest,
    MemberIdentity,
    Outcome,
    SyncReply,
    SyncRequest,
)
from duolog.core.groups.placement import partition_for
from duolog.core.groups.settings import GroupSettings
from duolog.model.errors import (
    CoordinatorLoading,
    CoordinatorNotAvailable,
    GroupIdNotFound,
    InvalidGroupId,
    NotCoordinator,
    PolicyViolation,
    Refusal,
    UnknownMember,
)
from duolog.model.limits import CLIENT_ID_CHARS_IN_MEMBER_ID_MAX, GROUP_TEXT_BYTES_MAX
from duolog.model.names import OFFSETS_TOPIC
from duolog.model.partition_state import NO_LEADER
from duolog.ports.clock import Clock

if TYPE_CHECKING:
    from duolog.broker.partition import Partition
    from duolog.core.replica.resignation import Unfitness

STOP_S_MAX = 5.0
"""Time for which `stop` waits for pending writes."""


class GroupCoordinator:
    def __init__(
        self,
        clock: Clock,
        store: OffsetStore,
        settings: GroupSettings,
        *,
        admission: Admission | None = None,
        new_id: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> None:
        self._clock = clock
        self._admission = admission or Admission(clock)
        self._store = store
        self._settings = settings
        self._new_id = new_id
        self._kept = KeptRecords()
        self._read_ahead = ReadAhead(clock, self._admission, self._kept, store.held)
        self._shards: dict[int, GroupShard] = {}
        self._topics: Container[str] | None = None
        self._closed: Refusal | None = CoordinatorLoading("the groups are being read")

    async def start(self, topics: Container[str]) -> None:
        """Begins to read and serve groups; `topics` is a live view of all topics.

        Groups are not read before the catalog is complete: offsets of topics that it does not
        show yet would be taken for those of deleted topics. On a sole node, all groups are
        loaded when this returns.
        """
        self._topics = topics
        self._closed = None
        for shard in self._shards.values():
            shard.load(topics)
        self._read_ahead.start()
        if not self._store.is_replicated:
            await self._until_read()

    async def stop(self) -> None:
        """Waits for pending writes, at most STOP_S_MAX, then refuses all waiting requests."""
        self._closed = CoordinatorNotAvailable("the coordinator is shutting down")
        await self._read_ahead.stop()
        shards = list(self._shards.values())
        # A write may be waiting for nodes that do not come back.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S_MAX):
                for shard in shards:
                    await shard.writer.settled()
        for shard in shards:
            shard.close(self._closed)

    def leading(self, partition: "Partition") -> None:
        """LeadershipListener: takes over the groups of a partition of the offsets topic."""
        if partition.topic.name == OFFSETS_TOPIC:
            self.begin(Tenure(partition.index, partition.leader_epoch))

    def left(self, partition: "Partition") -> None:
        if partition.topic.name != OFFSETS_TOPIC:
            return
        if self._may_lead_next(partition):
            self.pause(Tenure(partition.index, partition.leader_epoch))
        else:
            self.end(partition.index)

    def role_changed(self, partition: "Partition") -> None:
        """CopyingListener: ends what was paused once another node leads."""
        is_ours = partition.topic.name == OFFSETS_TOPIC
        if is_ours and not partition.leads and not self._may_lead_next(partition):
            self.end(partition.index)

    def unfit(self, partition: "Partition", why: "Unfitness") -> None:
        """CopyingListener: somebody else will be elected, which `role_changed` tells."""

    def _may_lead_next(self, partition: "Partition") -> bool:
        """True if no other node leads: this one may be elected again, under a new registration."""
        is_held = not partition.is_fenced
        return is_held and partition.leader in (NO_LEADER, self._store.node_id)

    def begin(self, tenure: Tenure) -> None:
        """Reads the groups of a partition that this node now leads, and closes its shard, unless
        it has led the partition in the epoch before, too."""
        served = self._shards.get(tenure.partition)
        if served is not None and tenure.epoch == served.tenure.epoch + 1:
            # Nobody else has led in between, so nobody else has written.
            served.renew(tenure)
            return
        self.end(tenure.partition)
        shard = GroupShard(
            tenure,
            self._clock,
            self._store,
            self._settings,
            self._admission,
            self._kept,
            self._read_again,
        )
        self._shards[tenure.partition] = shard
        if self._closed is None:
            assert self._topics is not None
            shard.load(self._topics)

    def pause(self, tenure: Tenure) -> None:
        """Keeps the shard of a partition that no other node leads in this epoch: if this node is
        elected next, nobody else has led in between."""
        shard = self._shards.get(tenure.partition)
        if shard is not None:
            shard.renew(tenure)

    def end(self, partition: int) -> None:
        """Closes the shard of a partition that this node no longer leads."""
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close(NotCoordinator("another node coordinates the group now"))

    def fresh_member_id(self, client_id: str, instance_id: str | None) -> str:
        """Makes a member id that starts with the instance or client id, as in Kafka."""
        name = instance_id or client_id
        return f"{name[:CLIENT_ID_CHARS_IN_MEMBER_ID_MAX]}-{self._new_id()}"

    async def locate(self, group_id: str) -> int:
        """Index of the offsets-topic partition whose leader coordinates the group.

        As in Kafka, the first look-up of a coordinator creates the topic.
        """
        self._check_open()
        if not self._store.exists:
            await self._store.create()
            await self._until_read()
        return self._partition_of(group_id)

    async def join(self, group_id: str, request: JoinRequest) -> JoinReply:
        _check_managed(group_id)
        shard = self._shard(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            if request.member_id != UNKNOWN_MEMBER_ID:
                raise UnknownMember(f"there is no group {group_id}")
            group = self._create(shard, group_id)
        reply = await shard.ask(group, lambda ticket: group.join(request, ticket, shard.now()))
        assert isinstance(reply, JoinReply)
        return reply

    async def sync(self, group_id: str, request: SyncRequest) -> SyncReply:
        shard, group = self._find_managed(group_id)
        reply = await shard.ask(group, lambda ticket: group.sync(request, ticket, shard.now()))
        assert isinstance(reply, SyncReply)
        return reply

    def heartbeat(self, group_id: str, who: MemberIdentity, generation: int) -> None:
        shard, group = self._find_managed(group_id)
        group.heartbeat(who, generation, shard.now())

    def leave(self, group_id: str, leaving: list[MemberIdentity]) -> list[Refusal | None]:
        """Removes members from a group; one result per member."""
        _check_managed(group_id)
        shard = self._shard(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            return [UnknownMember(f"there is no group {group_id}") for _ in leaving]
        results, effects = group.leave(leaving, shard.now())
        shard.perform(group, effects)
        return results

    async def commit(self, group_id: str, request: CommitRequest) -> Outcome:
        """Commits offsets durably; the outcome says which were refused."""
        shard = self._shard(group_id)
        shard.writer.check_room()
        group = shard.groups.get(group_id)
        if group is None:
            if request.generation > NO_GENERATION:
                raise GroupIdNotFound(f"there is no group {group_id}")
            group = self._create(shard, group_id)
        reply = await shard.ask(group, lambda ticket: group.commit(request, ticket, shard.now()))
        assert isinstance(reply, Outcome)
        return reply

    async def delete_offsets(self, group_id: str, named: Iterable[TopicPartition]) -> Outcome:
        group, shard = self.get(group_id), self._shard(group_id)
        shard.writer.check_room()
        reply = await shard.ask(group, lambda ticket: group.delete_offsets(named, ticket))
        assert isinstance(reply, Outcome)
        return reply

    async def delete(self, group_id: str) -> None:
        group = self.get(group_id)
        await self._shard(group_id).ask(group, group.delete)

    async def topic_deleted(self, topic: str) -> None:
        """Deletes the offsets committed for the topic, without waiting for the writes.

        The catalog waits for this call. After a crash, the next load of the groups deletes them.
        """
        for shard in self._shards.values() if self._closed is None else ():
            shard.topic_deleted(topic)

    def find(self, group_id: str) -> Group | None:
        """Finds a group, for reading only: only the coordinator may send it events."""
        return self._shard(group_id).groups.get(group_id)

    def get(self, group_id: str) -> Group:
        group = self.find(group_id)
        if group is None:
            raise GroupIdNotFound(f"there is no group {group_id}")
        return group

    @property
    def groups(self) -> Collection[Group]:
        """All groups that this node coordinates."""
        self._check_open()
        groups: list[Group] = []
        for shard in self._shards.values():
            try:
                shard.check_open()
            except NotCoordinator as refusal:
                # NotCoordinator would send a client that lists groups to another node.
                raise CoordinatorNotAvailable(str(refusal)) from refusal
            groups += shard.groups.values()
        return groups

    def rebalancing(self) -> tuple[int, ...]:
        """Partitions that their preferred leader should not take back yet: groups rebalance."""
        return tuple(
            index
            for index, shard in sorted(self._shards.items())
            if shard.is_rebalancing and self._store.leads_for_another(index)
        )

    def tick(self) -> None:
        """Performs what is due in all shards; their own alarms do so in time."""
        for shard in self._shards.values():
            shard.tick()

    def _read_again(self, shard: GroupShard) -> None:
        """Reloads a shard after writes of unknown outcome: the log tells which are in it."""
        if self._shards.get(shard.tenure.partition) is shard and self._closed is None:
            self.begin(shard.tenure)

    async def _until_read(self) -> None:
        while tasks := [each.loading for each in self._shards.values() if each.loading]:
            done, _ = await asyncio.wait(tasks)
            for task in done:
                if not task.cancelled():
                    task.result()

    def _shard(self, group_id: str) -> GroupShard:
        self._check_open()
        shard = self._shards.get(self._partition_of(group_id))
        if shard is None:
            raise NotCoordinator("another node coordinates the group")
        shard.check_open()
        return shard

    def _check_open(self) -> None:
        if self._closed is not None:
            raise self._closed.with_traceback(None)

    def _find_managed(self, group_id: str) -> tuple[GroupShard, Group]:
        _check_managed(group_id)
        shard = self._shard(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            raise UnknownMember(f"there is no group {group_id}")
        return shard, group

    def _create(self, shard: GroupShard, group_id: str) -> Group:
        if len(group_id.encode()) > GROUP_TEXT_BYTES_MAX:
            raise InvalidGroupId(f"a group id has at most {GROUP_TEXT_BYTES_MAX} bytes")
        if sum(len(each.groups) for each in self._shards.values()) >= self._settings.groups_max:
            raise PolicyViolation(f"there are {self._settings.groups_max} groups already")
        group = shard.groups[group_id] = Group(group_id, self._settings)
        return group

    def _partition_of(self, group_id: str) -> int:
        return partition_for(group_id, self._store.partitions)


def _check_managed(group_id: str) -> None:
    """Refuses the empty group id: as in Kafka, it can have offsets, but no members."""
    if not group_id:
        raise InvalidGroupId("a group with members needs an id")
