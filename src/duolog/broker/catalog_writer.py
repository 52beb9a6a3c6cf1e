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
        """Writes the topic's entry and the initial states of new partitions; waits until this
        node, or every node, has acted on them.

        Returns False if a condition fails. The topic's entry is written last: nobody looks at
        partition states beyond it, so a change that needs several transactions is still atomic.
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
        """Removes the entries that are still at the given mod-revisions.

        One changed entry keeps the others of its transaction until the next call.
        """
        compares = [Compare(key, mod_revision) for key, mod_revision in entries.items()]
        for first in range(0, len(compares), OPERATIONS_MAX):
            chunk = compares[first : first + OPERATIONS_MAX]
            await asked(self._store.transact(chunk, [Delete(each.key) for each in chunk]))

    async def catch_up(self, name: str) -> None:
        """Waits until this node has seen the topic's newest change, which outran its own."""
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
