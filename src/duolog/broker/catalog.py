"""The catalog of topics: look-ups in a cache, and changes as transactions on the store.

The cache changes only when the watch brings the transaction back, so this node learns of its
own changes as every other node does. A call that makes a change returns after the listeners
have acted on it: a created topic can be used at once.
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from duolog.broker.catalog_entries import (
    Topic,
    encode_topic,
    partition_key,
    stored_id,
    stored_name,
    topic_key,
)
from duolog.broker.catalog_follower import CatalogFollower, CatalogListener
from duolog.broker.catalog_placement import Assignment, Beginning, Placement
from duolog.broker.catalog_view import CatalogView
from duolog.broker.catalog_writer import CatalogWriter
from duolog.broker.cluster_nodes import ClusterNodes, SoleNode
from duolog.broker.store_follower import asked
from duolog.config.topic import TopicConfig, canonical_overrides, parse_topic_config
from duolog.model.errors import (
    InvalidPartitions,
    InvalidTopic,
    Refusal,
    RequestTimedOut,
    TopicExists,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from duolog.model.limits import PARTITIONS_PER_TOPIC_MAX
from duolog.model.names import check_topic_name, is_fifo, is_internal
from duolog.model.partition_state import NO_LEADER, PartitionEntry, PartitionState
from duolog.ports.clock import Clock
from duolog.ports.metastore import Compare, Delete, MetaStore, Put

__all__ = ["Catalog", "CatalogListener", "PartitionState", "Topic"]

_ATTEMPTS_MAX = 16
"""Attempts at a change while other nodes change the same topic."""

_ATTEMPT_S = 0.05
"""Pause after an attempt fails, for this node to learn of the change that outran it."""

ConfigEdit = Callable[[Mapping[str, str]], Mapping[str, str]]


class Catalog:
    def __init__(
        self,
        store: MetaStore,
        node_id: int,
        *,
        new_id: Callable[[], uuid.UUID],
        topic_defaults: Mapping[str, str] | None = None,
        nodes: ClusterNodes | None = None,
        default_factor: int = 1,
        clock: Clock | None = None,
    ) -> None:
        self._store = store
        self._node_id = node_id
        self._new_id = new_id
        self.topic_defaults: Mapping[str, str] = topic_defaults or {}
        """Topic settings from the node's configuration, below each topic's overrides."""
        self.nodes: ClusterNodes = nodes or SoleNode(node_id)
        """The nodes among which partitions are placed."""
        self.check_room: Callable[[str, int], None] = lambda topic, partitions: None
        """Raises if this node has no room for so many more partitions of the topic."""
        self.check_delete: Callable[[str], None] = lambda name: None
        """Raises if the topic must not be deleted, because something depends on it."""
        self.check_growth: Callable[[str], None] = lambda name: None
        """Raises if the topic must not grow, because something depends on its partition count."""
        self.check_config: Callable[[str, TopicConfig], None] = lambda name, config: None
        """Raises if something depends on records that the topic would lose by this config."""
        self._view = CatalogView(self.topic_defaults)
        self.placement = Placement(self.nodes, self._view, default_factor)
        self.follower = CatalogFollower(store, self._view, clock)
        self._writer = CatalogWriter(store, self.follower)

    @property
    def topics(self) -> Mapping[str, Topic]:
        return self._view.topics

    def get(self, name: str) -> Topic:
        topic = self._view.topics.get(name)
        if topic is None:
            raise UnknownTopicOrPartition(f"there is no topic '{name}'")
        return topic

    def by_id(self, topic_id: uuid.UUID) -> Topic:
        topic = self._view.by_id(topic_id)
        if topic is None:
            raise UnknownTopicId(f"no topic has the id {topic_id}")
        return topic

    def partition_entry(self, topic: Topic, index: int) -> PartitionEntry:
        entry = self._view.state(topic.id, index)
        if entry is None:
            raise UnknownTopicOrPartition(f"topic '{topic.name}' has no partition {index}")
        return entry

    def partition_state(self, topic: Topic, index: int) -> PartitionState:
        return self.partition_entry(topic, index).state

    def states_revision(self, topic: Topic) -> int:
        """Revision of the topic's last partition change: unless it rises, none has changed."""
        return self._view.states_revision(topic.id)

    def leader_of(self, topic: str, index: int) -> int | None:
        """Node id of the partition's leader; None while there is none."""
        leader = self.partition_state(self.get(topic), index).leader
        return None if leader == NO_LEADER else leader

    def subscribe(self, listener: CatalogListener) -> None:
        """Adds a listener; before `start`, so that it is told of the present topics, too."""
        self.follower.subscribe(listener)

    async def start(self) -> None:
        await self.follower.start()

    async def stop(self) -> None:
        await self.follower.stop()

    async def create_topic(
        self,
        name: str,
        partitions: int,
        overrides: Mapping[str, str],
        *,
        replication_factor: int | None = None,
        assignment: Assignment | None = None,
        beside: str | None = None,
        topic_id: uuid.UUID | None = None,
        given: Callable[[], Compare] | None = None,
        validate_only: bool = False,
    ) -> Topic:
        """Creates a topic: placed by its factor, as assigned, or beside another's partitions.

        `given` makes a further condition of the transaction, anew at each attempt.
        """
        check_topic_name(name)
        _check_partition_count(partitions)
        overrides = canonical_overrides(overrides)
        config = parse_topic_config(overrides, self.topic_defaults)
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            entry = await asked(self._store.get(key))
            if entry is not None:
                # A client told that the topic exists must find it at once, even if another node
                # has just created it.
                await self.follower.until(entry.mod_revision)
                raise _taken(name, stored_name(entry.value))
            is_by_default = replication_factor is None and assignment is None and beside is None
            topic = Topic(
                name=name,
                id=topic_id or self._new_id(),
                partitions=partitions,
                overrides=overrides,
                config=config,
                internal=is_internal(name),
                mod_revision=0,
                beside=None if beside is None else self.get(beside).id,
                factor=self.placement.later_factor() if is_by_default else None,
            )
            begun = self._begin(topic, range(partitions), replication_factor, assignment)
            if validate_only:
                return topic
            holds = [Compare(key, 0)] if given is None else [Compare(key, 0), given()]
            write = Put(key, encode_topic(topic))
            # An internal topic need not be known everywhere: clients do not ask for it by name,
            # and a queue's first receive must not wait for a node that hangs.
            everywhere = not topic.internal
            if await self._writer.commit(holds, write, topic.id, begun, everywhere=everywhere):
                return self.by_id(topic.id)
            await asyncio.sleep(_ATTEMPT_S)
        raise _contended(name)

    async def delete_topic(self, name: str) -> None:
        for _ in range(_ATTEMPTS_MAX):
            if await self._delete(self.get(name)):
                return
            await self._writer.catch_up(name)
        raise _contended(name)

    async def remove_topic(
        self, name: str, topic_id: uuid.UUID, given: Sequence[Compare] = ()
    ) -> None:
        """Deletes the topic if it still has this id; its name may belong to a newer topic.

        `given`: further conditions of the transaction.
        """
        for _ in range(_ATTEMPTS_MAX):
            # From the store, not the cache: this node may not have heard of the topic yet.
            entry = await asked(self._store.get(topic_key(name)))
            if entry is None or stored_id(entry.value) != topic_id:
                return
            await self.follower.until(entry.mod_revision)
            topic = self._view.by_id(topic_id)
            if topic is not None and await self._delete(topic, given):
                return
        raise _contended(name)

    async def _delete(self, topic: Topic, given: Sequence[Compare] = ()) -> bool:
        self.check_delete(topic.name)
        key = topic_key(topic.name)
        holds = [Compare(key, topic.mod_revision), *given]
        if not await self._writer.commit(holds, Delete(key)):
            return False
        await self._writer.remove(
            [partition_key(topic.id, index) for index in range(topic.partitions)]
        )
        return True

    async def create_partitions(
        self,
        name: str,
        total: int,
        *,
        assignment: Assignment | None = None,
        validate_only: bool = False,
    ) -> Topic:
        """Grows the topic to `total` partitions, with as many replicas as partition 0 has.

        From then on, all of them take the messages sent to a standard queue.
        """
        _check_partition_count(total)
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            topic = self.get(name)
            if total <= topic.partitions:
                raise InvalidPartitions(
                    f"topic '{name}' has {topic.partitions} partitions, and {total} is not more"
                )
            self.check_growth(name)
            begun = self._begin(topic, range(topic.partitions, total), None, assignment)
            if validate_only:
                return topic
            grown = replace(topic, partitions=total)
            write = Put(key, encode_topic(grown if is_fifo(name) else _opened(grown, None)))
            holds = [Compare(key, topic.mod_revision)]
            if await self._writer.commit(holds, write, topic.id, begun):
                return self.get(name)
            await self._writer.catch_up(name)
            await asyncio.sleep(_ATTEMPT_S)
        raise _contended(name)

    async def edit_config(
        self, name: str, edit: ConfigEdit, *, validate_only: bool = False
    ) -> Topic:
        """Replaces the topic's overrides by `edit` of the current ones.

        `edit` is called again if somebody else has changed them meanwhile, so that concurrent
        editors never undo each other.
        """

        def edited(topic: Topic) -> Topic:
            overrides = canonical_overrides(edit(topic.overrides))
            self.check_config(name, parse_topic_config(overrides, self.topic_defaults))
            return topic if validate_only else replace(topic, overrides=overrides)

        return await self._edit(name, edited)

    async def forget_factor(self, name: str) -> None:
        """Ends the automatic raising of the replica count: an operator has chosen it."""
        await self._edit(name, lambda topic: replace(topic, factor=None))

    async def open_partitions(self, name: str, open_limit: int | None) -> Topic:
        """Sends a queue's messages to the first `open_limit` partitions only; None: to all."""
        return await self._edit(name, lambda topic: _opened(topic, open_limit))

    async def retire_partition(self, name: str, topic_id: uuid.UUID, index: int) -> Topic:
        """Marks an empty partition as retired: the queue's receivers no longer ask it."""

        def retired(topic: Topic) -> Topic:
            if topic.id != topic_id or index < topic.open_partition_count:
                return topic
            return replace(topic, retired=tuple(sorted({*topic.retired, index})))

        return await self._edit(name, retired)

    async def revive_partition(self, name: str, topic_id: uuid.UUID, index: int) -> Topic:
        """Undoes `retire_partition`: the queue's receivers ask the partition again."""

        def revived(topic: Topic) -> Topic:
            if topic.id != topic_id:
                return topic
            return replace(topic, retired=tuple(each for each in topic.retired if each != index))

        return await self._edit(name, revived)

    async def _edit(self, name: str, edit: Callable[[Topic], Topic]) -> Topic:
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            topic = self.get(name)
            edited = edit(topic)
            if edited == topic:
                return topic
            write = Put(key, encode_topic(edited))
            if await self._writer.commit([Compare(key, topic.mod_revision)], write):
                return self.get(name)
            await self._writer.catch_up(name)
        raise _contended(name)

    def orphans(self) -> Mapping[str, int]:
        """Keys of partition states without a topic, left by a crash or by a creation under way."""
        return self._view.orphans()

    async def remove_orphans(self, seen: Mapping[str, int] | None = None) -> None:
        """Removes partition states that a crash left without a topic.

        `seen`: remove only those unchanged since they were seen. The controller uses it, because
        another node may be in the middle of creating a topic; a sole node removes all.
        """
        orphans = self._view.orphans()
        if seen is not None:
            orphans = {key: at for key, at in orphans.items() if seen.get(key) == at}
        await self._writer.remove_unchanged(orphans)

    def _begin(
        self,
        topic: Topic,
        indexes: range,
        factor: int | None,
        assignment: Assignment | None,
    ) -> dict[int, Beginning]:
        begun = self.placement.begin(topic, indexes, factor, assignment)
        if share := sum(self._node_id in each.state.replicas for each in begun.values()):
            self.check_room(topic.name, share)
        return begun


def _opened(topic: Topic, open_limit: int | None) -> Topic:
    opened = replace(topic, open_limit=open_limit)
    retired = tuple(index for index in topic.retired if index >= opened.open_partition_count)
    return replace(opened, retired=retired)


def _check_partition_count(count: int) -> None:
    if not 0 < count <= PARTITIONS_PER_TOPIC_MAX:
        raise InvalidPartitions(f"a topic has 1 to {PARTITIONS_PER_TOPIC_MAX} partitions")


def _taken(name: str, holder: str) -> Refusal:
    if holder == name:
        return TopicExists(f"topic '{name}' already exists")
    return InvalidTopic(
        f"topic '{name}' collides with '{holder}': '.' and '_' are the same in metric names"
    )


def _contended(name: str) -> RequestTimedOut:
    return RequestTimedOut(f"topic '{name}' is being changed by others too often")
