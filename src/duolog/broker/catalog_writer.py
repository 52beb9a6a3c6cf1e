"""Writes changes of the catalog to the store, in as few transactions as it takes."""

import uuid
from collections.abc import Iterator, Mapping, Sequence

from duolog.broker.catalog_entries import encode_state, partition_key, topic_key
from duolog.broker.catalog_follower import CatalogFollower
from duolog.broker.catalog_placement import Beginning
from duolog.broker.store_follower import asked
from duolog.model.errors import UnknownTopicOrPartition
from duolog.ports.metastore import OPERATIONS_MAX, Compare, Delete, MetaStore, Put

Chunk = tuple[list[Compare], list[Put | Delete]]


class CatalogWriter:
    def __init__(self, store: MetaStore, follower: CatalogFollower) -> None:
        self._store = store
        self._follower = follower

    async def commit(
        self,
        holds: Sequence[Compare],
        write_topic: Put | Delete,
        topic_id: uuid.UUID | None = None,
        beginnings: Mapping[int, Beginning] | None = None,
        *,
        everywhere: bool = True,
    ) -> bool:
        """Change the topic's entry, and begin partitions of it; wait until that was acted upon,
        here or everywhere.

        False if the topic, or what a beginning depends on, has changed. The topic's own entry
        comes last: until it is written nobody looks at the others, so a change that is too
        long for one transaction still happens at once.
        """
        revision = 0
        for compares, operations in _chunks(holds, write_topic, topic_id, beginnings or {}):
            result = await asked(self._store.transact(compares, operations))
            if not result.committed:
                return False
            revision = result.revision
            await self._follower.until(revision)
        if everywhere:
            await self._follower.until_everywhere(revision)
        return True

    async def remove(self, keys: Sequence[str]) -> None:
        for first in range(0, len(keys), OPERATIONS_MAX):
            operations = [Delete(key) for key in keys[first : first + OPERATIONS_MAX]]
            await asked(self._store.transact([], operations))

    async def remove_unchanged(self, entries: Mapping[str, int]) -> None:
        """Remove those that are still at the mod-revisions given for them.

        Where one has changed, those that were to go with it stay for the next time.
        """
        compares = [Compare(key, mod_revision) for key, mod_revision in entries.items()]
        for first in range(0, len(compares), OPERATIONS_MAX):
            chunk = compares[first : first + OPERATIONS_MAX]
            await asked(self._store.transact(chunk, [Delete(each.key) for each in chunk]))

    async def catch_up(self, name: str) -> None:
        """Wait for the change of the topic that has just outrun ours."""
        entry = await asked(self._store.get(topic_key(name)))
        if entry is None:
            raise UnknownTopicOrPartition(f"there is no topic '{name}'")
        await self._follower.until(entry.mod_revision)


def _chunks(
    holds: Sequence[Compare],
    write_topic: Put | Delete,
    topic_id: uuid.UUID | None,
    beginnings: Mapping[int, Beginning],
) -> Iterator[Chunk]:
    compares = dict.fromkeys(holds)
    operations: list[Put | Delete] = []
    for index, begun in beginnings.items():
        assert topic_id is not None
        conditions = dict.fromkeys(begun.conditions)
        if max(len(operations) + 1, len(compares | conditions)) > OPERATIONS_MAX:
            yield list(compares), operations
            compares, operations = dict.fromkeys(holds), []
        compares |= conditions
        operations.append(Put(partition_key(topic_id, index), encode_state(begun.state)))
    if len(operations) == OPERATIONS_MAX:
        yield list(compares), operations
        compares, operations = dict.fromkeys(holds), []
    yield list(compares), [*operations, write_topic]
