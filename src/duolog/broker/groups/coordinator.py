"""Serves consumer groups: finds the group, asks it, performs what it decides.

The decisions are in core/groups/group.py. A group belongs to a partition of the store, and
this node serves those whose partition it leads: one shard for each.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Callable, Collection, Container, Iterable
from typing import TYPE_CHECKING

from duolog.broker.groups.offset_store import OffsetStore, Tenure
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
from duolog.ports.clock import Clock

if TYPE_CHECKING:
    from duolog.broker.partition import Partition

STOP_S_MAX = 5.0
"""How long a stop waits for the writes under way."""


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
        self._shards: dict[int, GroupShard] = {}
        self._topics: Container[str] | None = None
        self._closed: Refusal | None = CoordinatorLoading("the groups are being read")

    async def start(self, topics: Container[str]) -> None:
        """Begin to serve: `topics` are all that there are, as a live view.

        Only now are groups read: before the catalog is complete, what was committed for a
        topic further down would be taken to be of one that is gone. A node alone can serve
        all of them when this returns.
        """
        self._topics = topics
        self._closed = None
        for shard in self._shards.values():
            shard.load(topics)
        if not self._store.is_replicated:
            await self._until_read()

    async def stop(self) -> None:
        """Let the writes under way end, then turn away those who wait for something else."""
        self._closed = CoordinatorNotAvailable("the coordinator is shutting down")
        shards = list(self._shards.values())
        # A write may be waiting for nodes that do not come back.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S_MAX):
                for shard in shards:
                    await shard.writer.settled()
        for shard in shards:
            shard.close(self._closed)

    def leading(self, partition: "Partition") -> None:
        """As a listener to what the broker leads, of which the store's partitions concern us."""
        if partition.topic.name == OFFSETS_TOPIC:
            self.begin(Tenure(partition.index, partition.leader_epoch))

    def left(self, partition: "Partition") -> None:
        if partition.topic.name == OFFSETS_TOPIC:
            self.end(partition.index)

    def begin(self, tenure: Tenure) -> None:
        """This node leads a partition of the store, or leads it anew: read its groups. What is
        known of them from before no longer counts."""
        self.end(tenure.partition)
        shard = GroupShard(tenure, self._clock, self._store, self._settings, self._read_again)
        self._shards[tenure.partition] = shard
        if self._closed is None:
            assert self._topics is not None
            shard.load(self._topics)

    def end(self, partition: int) -> None:
        """This node does not lead that partition any more."""
        shard = self._shards.pop(partition, None)
        if shard is not None:
            shard.close(NotCoordinator("another node coordinates the group now"))

    def fresh_member_id(self, client_id: str, instance_id: str | None) -> str:
        """Starts with what an operator knows the member by, as Kafka's do."""
        name = instance_id or client_id
        return f"{name[:CLIENT_ID_CHARS_IN_MEMBER_ID_MAX]}-{self._new_id()}"

    async def locate(self, group_id: str) -> int:
        """The partition of the store whose leader coordinates the group.

        As in Kafka, the store is made when a coordinator is first looked for.
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
        """One result for each who wants to leave."""
        _check_managed(group_id)
        shard = self._shard(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            return [UnknownMember(f"there is no group {group_id}") for _ in leaving]
        results, effects = group.leave(leaving, shard.now())
        shard.perform(group, effects)
        return results

    async def commit(self, group_id: str, request: CommitRequest) -> Outcome:
        """Returns once the offsets are durable; tells which of them were refused."""
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
        """Forget what was committed for the topic.

        Not waited for: the catalog waits for us here. What a crash prevents is made up for
        when the groups are next read.
        """
        for shard in self._shards.values() if self._closed is None else ():
            shard.topic_deleted(topic)

    def find(self, group_id: str) -> Group | None:
        """To read; only the coordinator tells a group anything."""
        return self._shard(group_id).groups.get(group_id)

    def get(self, group_id: str) -> Group:
        group = self.find(group_id)
        if group is None:
            raise GroupIdNotFound(f"there is no group {group_id}")
        return group

    @property
    def groups(self) -> Collection[Group]:
        """Those that this node coordinates."""
        self._check_open()
        groups: list[Group] = []
        for shard in self._shards.values():
            try:
                shard.check_open()
            except NotCoordinator as refusal:
                # Whoever lists groups has not come to the wrong node.
                raise CoordinatorNotAvailable(str(refusal)) from refusal
            groups += shard.groups.values()
        return groups

    def tick(self) -> None:
        """Do what is due. Each shard has an alarm of its own that does it in time."""
        for shard in self._shards.values():
            shard.tick()

    def _read_again(self, shard: GroupShard) -> None:
        """For the moment the node may not lead; should it go on to, the log says with what."""
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
    """Offsets can be kept under the empty id, as in Kafka; members cannot."""
    if not group_id:
        raise InvalidGroupId("a group with members needs an id")
