"""Which topics there are, and the ways to change that.

A change is a transaction; the cache follows only when the watch brings that transaction back,
so that this node and every other learn of it on one path. A call that changes something
returns after the listeners have acted on it: what was created can be used at once.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from duolog.broker.catalog_entries import (
    Topic,
    encode_state,
    encode_topic,
    partition_key,
    stored_name,
    topic_key,
)
from duolog.broker.catalog_follower import CatalogFollower, CatalogListener
from duolog.broker.catalog_view import CatalogView
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
from duolog.model.names import check_topic_name, is_internal
from duolog.model.partition_state import PartitionEntry, PartitionState
from duolog.ports.metastore import (
    OPERATIONS_MAX,
    Compare,
    Delete,
    MetaStore,
    Put,
)

__all__ = ["Catalog", "CatalogListener", "PartitionState", "Topic"]

FIRST_LEADER_EPOCH = 0

_ATTEMPTS_MAX = 16
"""How often a change is tried again when others change the same topic meanwhile."""

ConfigEdit = Callable[[Mapping[str, str]], Mapping[str, str]]


class Catalog:
    def __init__(
        self,
        store: MetaStore,
        node_id: int,
        *,
        new_id: Callable[[], uuid.UUID],
        topic_defaults: Mapping[str, str] | None = None,
    ) -> None:
        self._store = store
        self._node_id = node_id
        self._new_id = new_id
        self.topic_defaults: Mapping[str, str] = topic_defaults or {}
        """What the node's operator has set for topics that say nothing themselves."""
        self.check_room: Callable[[int], None] = lambda partitions: None
        """Refuses so many new partitions, where they could not be held."""
        self.check_delete: Callable[[str], None] = lambda name: None
        """Refuses the deletion of a topic that something depends on."""
        self.check_growth: Callable[[str], None] = lambda name: None
        """Refuses more partitions for a topic whose number of them something depends on."""
        self.check_config: Callable[[str, TopicConfig], None] = lambda name, config: None
        """Refuses a configuration with which a topic would lose what something depends on."""
        self._view = CatalogView(self.topic_defaults)
        self.follower = CatalogFollower(store, self._view)

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

    def subscribe(self, listener: CatalogListener) -> None:
        """Before `start`: the listener is told of every topic that is there, too."""
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
        topic_id: uuid.UUID | None = None,
        validate_only: bool = False,
    ) -> Topic:
        check_topic_name(name)
        _check_partition_count(partitions)
        overrides = canonical_overrides(overrides)
        config = parse_topic_config(overrides, self.topic_defaults)
        self.check_room(partitions)
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            entry = await asked(self._store.get(key))
            if entry is not None:
                raise _taken(name, stored_name(entry.value))
            new_id = topic_id or self._new_id()
            if validate_only:
                return Topic(name, new_id, partitions, overrides, config, is_internal(name), 0)
            operations = self._first_states(new_id, range(partitions))
            operations.append(Put(key, encode_topic(name, new_id, partitions, overrides)))
            if await self._commit(Compare(key, 0), operations):
                return self.by_id(new_id)
        raise _contended(name)

    async def delete_topic(self, name: str) -> None:
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            topic = self.get(name)
            self.check_delete(name)
            compare = Compare(key, topic.mod_revision)
            if await self._commit(compare, [Delete(key)]):
                await self._remove(
                    [partition_key(topic.id, index) for index in range(topic.partitions)]
                )
                return
            await self._catch_up(name)
        raise _contended(name)

    async def create_partitions(
        self, name: str, total: int, *, validate_only: bool = False
    ) -> Topic:
        """Grow the topic to `total` partitions."""
        _check_partition_count(total)
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            topic = self.get(name)
            if total <= topic.partitions:
                raise InvalidPartitions(
                    f"topic '{name}' has {topic.partitions} partitions, and {total} is not more"
                )
            self.check_growth(name)
            self.check_room(total - topic.partitions)
            if validate_only:
                return topic
            operations = self._first_states(topic.id, range(topic.partitions, total))
            operations.append(Put(key, encode_topic(name, topic.id, total, topic.overrides)))
            if await self._commit(Compare(key, topic.mod_revision), operations):
                return self.get(name)
            await self._catch_up(name)
        raise _contended(name)

    async def edit_config(
        self, name: str, edit: ConfigEdit, *, validate_only: bool = False
    ) -> Topic:
        """Replace the topic's overrides by what `edit` makes of the present ones.

        It is called again when somebody else has changed them meanwhile, so that two editors
        never undo each other.
        """
        key = topic_key(name)
        for _ in range(_ATTEMPTS_MAX):
            topic = self.get(name)
            overrides = canonical_overrides(edit(topic.overrides))
            self.check_config(name, parse_topic_config(overrides, self.topic_defaults))
            if validate_only or overrides == topic.overrides:
                return topic
            value = encode_topic(name, topic.id, topic.partitions, overrides)
            if await self._commit(Compare(key, topic.mod_revision), [Put(key, value)]):
                return self.get(name)
            await self._catch_up(name)
        raise _contended(name)

    async def remove_orphans(self) -> None:
        """Remove what a crash in the middle of a long change has left.

        Only where nobody else makes topics: on a node alone, or on the controller.
        """
        await self._remove(self._view.orphans())

    def _first_states(self, topic_id: uuid.UUID, indexes: range) -> list[Put | Delete]:
        only = (self._node_id,)
        state = encode_state(PartitionState(self._node_id, FIRST_LEADER_EPOCH, only, only))
        return [Put(partition_key(topic_id, index), state) for index in indexes]

    async def _commit(self, topic_is: Compare, operations: Sequence[Put | Delete]) -> bool:
        """Do the operations and wait until they were acted upon; False if the topic changed.

        The one on the topic's own entry comes last: until it is done nobody looks at the
        others, so a change that is too long for one transaction still happens at once.
        """
        pending = iter(operations)
        while chunk := list(islice(pending, OPERATIONS_MAX)):
            result = await asked(self._store.transact([topic_is], chunk))
            if not result.committed:
                return False
            await self.follower.until(result.revision)
        return True

    async def _remove(self, keys: Sequence[str]) -> None:
        for first in range(0, len(keys), OPERATIONS_MAX):
            operations = [Delete(key) for key in keys[first : first + OPERATIONS_MAX]]
            await asked(self._store.transact([], operations))

    async def _catch_up(self, name: str) -> None:
        """Wait for the change of the topic that has just outrun ours."""
        entry = await asked(self._store.get(topic_key(name)))
        if entry is None:
            raise UnknownTopicOrPartition(f"there is no topic '{name}'")
        await self.follower.until(entry.mod_revision)


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
